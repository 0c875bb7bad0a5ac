// @vitest-environment happy-dom
import { readdirSync, readFileSync } from "node:fs";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, test } from "vitest";
import { SteersmanProvider, type UseRun } from "../src/index.js";
import { createFakeRun, createFakeTransport } from "../src/testing.js";
import { Costs } from "./support/costs.js";
import { Inbox } from "./support/inbox.js";

const read = (path: string) => readFileSync(`${import.meta.dirname}/${path}`, "utf8");
const page = read("../../../../docs/react.md");

/** Everything of `useRun`; the compiler refuses one that is missing here, and one too many. */
const FIELDS: Record<keyof UseRun, true> = {
  runId: true,
  agent: true,
  title: true,
  userId: true,
  parentId: true,
  forkedFrom: true,
  createdAt: true,
  startedAt: true,
  updatedAt: true,
  metadata: true,
  version: true,
  status: true,
  finish: true,
  isActive: true,
  isHydrating: true,
  messages: true,
  partial: true,
  toolCalls: true,
  approvals: true,
  clientCalls: true,
  queue: true,
  subruns: true,
  steps: true,
  usage: true,
  budget: true,
  output: true,
  error: true,
  connection: true,
  start: true,
  steer: true,
  resend: true,
  withdraw: true,
  cancel: true,
  approve: true,
  deny: true,
  decideAll: true,
  complete: true,
  retry: true,
  fork: true,
  clearError: true,
  disconnect: true,
  connect: true,
};

afterEach(cleanup);

describe("docs/react.md", () => {
  test("has a row for every field and every action of useRun", () => {
    const cells = [...page.matchAll(/^\| (`.*?`(?:, `.*?`)*) \|/gm)].map(([, cell]) => cell ?? "");
    const rows = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)[`(]/g)].map(([, name]) => name));
    expect(rows.sort()).toEqual(Object.keys(FIELDS).sort());
  });

  test.each(["chat.tsx", "chat.test.tsx", "costs.tsx", "inbox.tsx", "assistant.tsx"])(
    "shows %s as it is compiled and run here",
    (name) => {
      const block = new RegExp(`^\`\`\`tsx ${name}\\n(.*?)^\`\`\``, "ms").exec(page)?.[1];
      expect(block).toBe(read(`./support/${name}`));
    },
  );
});

test("nothing but the part for assistant-ui needs assistant-ui", () => {
  const files = readdirSync(`${import.meta.dirname}/../src`).filter((name) => /\.tsx?$/.test(name));
  const needs = files.filter((name) =>
    /from "(@assistant-ui|\.\/assistant-ui)/.test(read(`../src/${name}`)),
  );
  expect(needs).toEqual(["assistant-ui.ts"]);
});

test("the page's inbox decides what waits", async () => {
  const transport = createFakeTransport();
  const call = {
    id: "call_1",
    runId: "run_1",
    agent: "desk",
    name: "refund",
    input: {},
    state: "WAITING",
  };
  const pageInfo = { hasNextPage: false, endCursor: null };
  transport.answer("Approvals", () => ({ approvals: { nodes: [call], pageInfo } }));
  transport.answer("DecideAlone", () => ({ decideToolCalls: { errors: [] } }));
  render(
    <SteersmanProvider transport={transport}>
      <Inbox />
    </SteersmanProvider>,
  );
  await screen.findByText("desk wants to call refund");
  await act(async () => fireEvent.click(screen.getByDisplayValue("Deny")));
  const { decisions } =
    transport.asked.find(({ name }) => name === "DecideAlone")?.variables.input ?? {};
  expect(decisions).toEqual([{ toolCallId: "call_1", decision: "DENY", reason: "not today" }]);
  expect(screen.queryByText("desk wants to call refund")).toBe(null);
});

test("the page's costs say what each step cost, and where no price is known", async () => {
  const transport = createFakeTransport();
  createFakeRun(transport);
  const call = (step: number, cost: string | null) => ({
    id: `mdl_${step}`,
    step,
    model: "m",
    usage: { cost },
  });
  const pageInfo = { hasPreviousPage: false, startCursor: null };
  transport.answer("ModelCalls", () => ({
    run: { modelCalls: { nodes: [call(1, "0.01"), call(2, null)], pageInfo } },
  }));
  render(
    <SteersmanProvider transport={transport}>
      <Costs runId="run_1" />
    </SteersmanProvider>,
  );
  await screen.findByText("Step 1: m, 0.01");
  expect(screen.getByText("Step 2: m, no known price")).toBeDefined();
});

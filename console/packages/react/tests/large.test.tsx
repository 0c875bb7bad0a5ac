// @vitest-environment happy-dom
import { act, cleanup, render } from "@testing-library/react";
import { memo } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Event, Message } from "../src/api.js";
import { SteersmanProvider, useRun } from "../src/index.js";
import { reduce } from "../src/reduce.js";
import { initialState, type RunState } from "../src/state.js";
import { createFakeRun, createFakeTransport } from "../src/testing.js";
import { firstRow, messages as told } from "./support/recorded.js";

/** A run of so many messages, half of which asked for a tool. */
function runOf(count: number): RunState {
  const messages = Array.from({ length: count }, (_, at): Message => {
    const role = at % 2 === 0 ? "USER" : "ASSISTANT";
    return { ...(told[0]?.message as Message), id: `msg_${at + 1}`, seq: at + 1, role };
  });
  const calls = Array.from({ length: count / 2 }, (_, at) => callOf(`call_${at + 1}`));
  const row = { ...firstRow, streamId: "str_1", steps: count / 2, pendingCalls: [] };
  const snapshot = { row, messages, calls, children: [] };
  return reduce(initialState(row.id), { type: "snapshot", snapshot });
}

const callOf = (id: string) => ({
  id,
  runId: firstRow.id,
  agent: firstRow.agent,
  step: 1,
  name: "look",
  input: { at: id },
  state: "SUCCEEDED" as const,
  result: "seen",
  isError: false,
  startedAt: null,
  finishedAt: null,
  approvers: null,
  expiresAt: null,
  decidedBy: null,
  decidedAt: null,
  reason: null,
  childRun: null,
});

const delta = (seq: number, step: number): Event => ({
  __typename: "TextDelta",
  streamId: "str_1",
  seq,
  step,
  attempt: 1,
  at: "2026-01-01T00:00:00.000Z",
  block: 0,
  offset: seq - 1,
  text: "x",
});

/** The list, and how many of its items have been looked at. */
function watched<Item>(list: Item[]) {
  const looks = { count: 0 };
  const get = (target: Item[], name: string | symbol, self: unknown) => {
    if (typeof name === "string" && /^\d+$/.test(name)) looks.count += 1;
    return Reflect.get(target, name, self);
  };
  return { list: new Proxy(list, { get }), looks };
}

/** How many messages and calls a delta looks at, in a run of so many messages. */
function looksOfDelta(count: number): number {
  const state = runOf(count);
  const messages = watched(state.messages);
  const toolCalls = watched(state.toolCalls);
  const open = { ...state, messages: messages.list, toolCalls: toolCalls.list };
  const first = reduce(open, { type: "stream", event: delta(1, count) });
  messages.looks.count = 0;
  toolCalls.looks.count = 0;
  reduce(first, { type: "stream", event: delta(2, count) });
  return messages.looks.count + toolCalls.looks.count;
}

describe("a run of a thousand messages", () => {
  test("is looked at by a piece of text no more than a run of ten", () => {
    expect(looksOfDelta(1_000)).toBe(looksOfDelta(10));
    expect(looksOfDelta(1_000)).toBeLessThan(5);
  });

  test("stays the same objects while an answer is written", () => {
    let state = runOf(1_000);
    const before = state;
    for (let seq = 1; seq <= 100; seq += 1)
      state = reduce(state, { type: "stream", event: delta(seq, 501) });
    expect(state.partial?.blocks[0]?.text).toBe("x".repeat(100));
    for (const part of ["messages", "toolCalls", "subruns", "queue", "usage", "metadata"] as const)
      expect(state[part]).toBe(before[part]);
  });

  test("keeps each message and each call when one comes that is new", () => {
    const state = runOf(1_000);
    const last = { ...(state.messages.at(-1) as Message), id: "msg_new", seq: 1_001 };
    const told = reduce(state, { type: "message", message: last });
    expect(told.messages.filter((message, at) => message === state.messages[at])).toHaveLength(
      1_000,
    );
    const again = state.toolCalls.map(({ id }) => callOf(id));
    expect(reduce(state, { type: "calls", calls: again }).toolCalls).toBe(state.toolCalls);
    const more = reduce(state, { type: "calls", calls: [...again, callOf("call_new")] });
    expect(more.toolCalls.filter((call, at) => call === state.toolCalls[at])).toHaveLength(500);
  });

  test("remembers no more of a hundred turns than of the last ones", () => {
    let state = runOf(10);
    for (let turn = 1; turn <= 100; turn += 1)
      state = reduce(state, {
        type: "stream",
        event: { ...delta(1, 10 + turn), streamId: `str_${turn}` },
      });
    expect(Object.keys(state.memory.seen).length).toBeLessThan(20);
    expect(state.memory.seen.str_100).toBe(1);
  });
});

const renders = { rows: 0, pages: 0 };

const Row = memo(({ message }: { message: Message }) => {
  renders.rows += 1;
  return <p>{message.text}</p>;
});

function Page() {
  const run = useRun({ runId: "run_1" });
  renders.pages += 1;
  return (
    <>
      {run.messages.map((message) => (
        <Row key={message.id} message={message} />
      ))}
      <p>{run.partial?.blocks[0]?.text}</p>
    </>
  );
}

describe("a page of a thousand messages", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    cleanup();
    vi.useRealTimers();
  });

  test("renders each of them once, however much is written below them", async () => {
    const transport = createFakeTransport();
    const run = createFakeRun(transport);
    for (let seq = 1; seq <= 1_000; seq += 1) run.say(seq % 2 ? "USER" : "ASSISTANT", `${seq}`);
    run.change({ steps: 500 });
    const { container } = render(
      <SteersmanProvider transport={transport}>
        <Page />
      </SteersmanProvider>,
    );
    await act(() => vi.advanceTimersByTimeAsync(200));
    expect(renders.rows).toBe(1_000);
    const before = renders.pages;
    for (let offset = 0; offset < 50; offset += 1)
      await act(async () => {
        run.tell({ __typename: "TextDelta", step: 501, block: 0, offset, text: "x" });
        await vi.advanceTimersByTimeAsync(40);
      });
    await act(() => vi.advanceTimersByTimeAsync(200));
    expect(container.lastElementChild?.textContent).toBe("x".repeat(50));
    expect(renders.pages).toBeGreaterThan(before + 10);
    expect(renders.rows).toBe(1_000);
  });
});

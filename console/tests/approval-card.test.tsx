import type { Approval, Failure } from "@steersman/react";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApprovalCard } from "../src/parts/approvals/approval-card";
import { waiting } from "./support/rows";

type Outcome = Promise<{ error: Failure | null }>;

const approve = vi.fn<(options: { input?: unknown }) => Outcome>();
const deny = vi.fn<(options: { reason?: string }) => Outcome>();
const SCHEMA = {
  type: "object",
  properties: {
    order: { type: "string", description: "Which order" },
    amount: { type: "number", minimum: 1 },
    note: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
  },
  required: ["order", "amount"],
};

beforeEach(() => {
  approve.mockReset().mockResolvedValue({ error: null });
  deny.mockReset().mockResolvedValue({ error: null });
});
afterEach(cleanup);

function shown(more: Partial<Approval> = {}, inputSchema: unknown = null) {
  const approval = waiting("call_1", { ...more, inputSchema });
  render(<ApprovalCard {...{ approval, approve, deny }} />);
  return screen.getByRole("region", { name: "desk wants to: Refund order" });
}

const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));
const write = (label: string | RegExp, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
const withMod = (element: Element) => fireEvent.keyDown(element, { key: "Enter", ctrlKey: true });

test("Mod+Enter approves the call as it stands, and no other key does", () => {
  const card = shown();
  fireEvent.keyDown(card, { key: "Enter" });
  expect(approve).not.toHaveBeenCalled();
  withMod(card);
  expect(approve.mock.calls).toEqual([[{}]]);
});

test("a denial takes a reason to the agent, and Mod+Enter means the denial meanwhile", () => {
  const card = shown();
  press("Deny…");
  const field = screen.getByLabelText(/Why not/);
  expect(document.activeElement).toBe(field);
  write(/Why not/, "  Too much. ");
  withMod(card);
  expect(deny.mock.calls).toEqual([[{ reason: "Too much." }]]);
  expect(approve).not.toHaveBeenCalled();
});

test("arguments are edited as JSON; what is none keeps its text and approves nothing", () => {
  const card = shown();
  press("Edit");
  write("Arguments", '{"order": ');
  withMod(card);
  expect(approve).not.toHaveBeenCalled();
  expect(screen.getByLabelText<HTMLTextAreaElement>("Arguments").value).toBe('{"order": ');
  write("Arguments", '{"order": "A-1", "amount": 90}');
  withMod(card);
  expect(approve.mock.calls).toEqual([[{ input: { order: "A-1", amount: 90 } }]]);
});

test("they are edited in a form where their schema is known, and keep their types", () => {
  shown({}, SCHEMA);
  press("Edit");
  expect(document.activeElement).toBe(screen.getByLabelText("Order"));
  write("Amount", "0");
  press("Approve as edited");
  expect(approve).not.toHaveBeenCalled();
  screen.getByText("At least 1");
  write("Amount", "90");
  press("Approve as edited");
  expect(approve.mock.calls).toEqual([[{ input: { order: "A-1", amount: 90 } }]]);
});

test.each([
  ["has a name that the schema does not know", { order: "A-1", amount: 1, more: true }, SCHEMA],
  ["has null where a form would give a text", { order: "A-1", amount: 1, note: null }, SCHEMA],
  [
    "is one of a few numbers",
    { size: 1 },
    { properties: { size: { type: "integer", enum: [1, 2] } } },
  ],
])("there is no form where it would change something unasked: what %s", (_, input, schema) => {
  shown({ input }, schema);
  press("Edit");
  const text = screen.getByLabelText<HTMLTextAreaElement>("Arguments").value;
  expect(JSON.parse(text)).toEqual(input);
});

test("Escape goes back, keeps what was written, and gives the focus to the card", () => {
  const card = shown();
  press("Deny…");
  write(/Why not/, "Too much.");
  fireEvent.keyDown(screen.getByLabelText(/Why not/), { key: "Escape" });
  expect(document.activeElement).toBe(card);
  press("Deny…");
  expect(screen.getByLabelText<HTMLTextAreaElement>(/Why not/).value).toBe("Too much.");
});

test("a decision that is on its way is not sent twice, whichever it is", () => {
  const card = shown({ deciding: "APPROVE" });
  withMod(card);
  press("Deny…");
  withMod(card);
  expect([approve.mock.calls, deny.mock.calls]).toEqual([[], []]);
});

test("why a decision was not taken stands in the card", async () => {
  const error = { code: "CALL_ALREADY_DECIDED", message: "Too late.", retryable: false };
  approve.mockResolvedValue({ error });
  shown();
  press("Approve");
  await screen.findByText("Too late.");
});

import { SteersmanProvider, TransportError } from "@steersman/react";
import { createFakeTransport, type FakeTransport } from "@steersman/react/testing";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";
import ApprovalsPage from "../src/pages/approvals/page";
import { Announcer } from "../src/ui";
import { waiting } from "./support/rows";

const PAGE = { hasNextPage: false, endCursor: null };

let transport: FakeTransport;
beforeEach(() => {
  transport = createFakeTransport();
});
afterEach(cleanup);

async function shown(...ids: string[]) {
  const nodes = ids.map((id, at) => waiting(id, { runId: `run_${at}` }));
  transport.answer("Approvals", () => ({ approvals: { nodes, pageInfo: PAGE } }));
  transport.answer("DecideAlone", () => ({ decideToolCalls: { errors: [] } }));
  render(
    <SteersmanProvider transport={transport}>
      <ApprovalsPage />
      <Announcer />
    </SteersmanProvider>,
  );
  await waitFor(() => expect(cards()).toEqual(ids));
}

const all = () => [...document.querySelectorAll<HTMLElement>("[data-approval]")];
const cards = () => all().map(({ dataset }) => dataset.approval);
const focused = () => (document.activeElement as HTMLElement).dataset.approval;
const said = () => screen.getByTestId("announcer").textContent?.trim();
const ends = (id: string) =>
  act(() => transport.emit("ApprovalChanges", { approvals: { ...waiting(id), state: "DENIED" } }));

test("when a call was decided, the next one has the focus, and after the last the heading has", async () => {
  await shown("call_1", "call_2");
  all()[0]?.focus();
  for (const left of [["call_2"], []]) {
    fireEvent.keyDown(document.activeElement as Element, { key: "Enter", ctrlKey: true });
    await waitFor(() => expect(cards()).toEqual(left));
    await waitFor(() => expect(said()).toBe("Refund order: approved"));
    if (left[0]) expect(focused()).toBe(left[0]);
  }
  expect((document.activeElement as HTMLElement).dataset.pageTitle).toBeDefined();
});

test("a call that goes without being decided here is said to wait no longer, and takes no focus along", async () => {
  await shown("call_1", "call_2");
  all()[1]?.focus();
  ends("call_1");
  await waitFor(() => expect(said()).toBe("Refund order no longer waits"));
  expect(focused()).toBe("call_2");
});

test("a call that comes is announced", async () => {
  await shown("call_1");
  act(() => transport.emit("ApprovalChanges", { approvals: waiting("call_2") }));
  await waitFor(() => expect(said()).toBe("desk asks: Refund order"));
});

test("a refusal is told once, where it was asked for", async () => {
  await shown("call_1", "call_2");
  const errors = [{ code: "FORBIDDEN", message: "Not yours." }];
  transport.answer("DecideAlone", () => ({ decideToolCalls: { errors } }));
  fireEvent.click(screen.getAllByRole("button", { name: "Approve" })[0] as Element);
  await screen.findByText("Not yours.");
  expect(all()[0]?.textContent).toContain("Not yours.");
  expect(screen.getAllByRole("alert")).toHaveLength(1);
});

test("an inbox that can't be read does not say that nothing waits", async () => {
  transport.answer("Approvals", () => {
    throw new TransportError("UNAUTHENTICATED", "The token has expired.");
  });
  render(
    <SteersmanProvider transport={transport}>
      <ApprovalsPage />
    </SteersmanProvider>,
  );
  await screen.findByText("The token has expired.");
  expect(screen.queryByText("Nothing waits for you")).toBeNull();
});

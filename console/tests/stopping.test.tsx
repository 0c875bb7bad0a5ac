import type { ListedRun } from "@steersman/react";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Router } from "wouter";
import { Stopping } from "../src/pages/runs/stopping";
import { listed } from "./support/rows";

const RUNS = [
  listed("run_working", 5, { status: "RUNNING" }),
  listed("run_waiting", 4, { status: "WAITING" }),
  listed("run_stopping", 3, { status: "RUNNING", cancelRequested: true }),
  listed("run_done", 2),
];

let stopped: string[];
let refused: Record<string, string>;

beforeEach(() => {
  stopped = [];
  refused = {};
});
afterEach(cleanup);

async function cancelMany(runIds: readonly string[]) {
  stopped.push(...runIds);
  const failed = runIds.flatMap((runId) => {
    const message = refused[runId];
    return message ? [{ runId, error: { code: "FORBIDDEN", message, retryable: false } }] : [];
  });
  return { cancelled: [], failed };
}

function shown(runs: ListedRun[]) {
  const done = vi.fn();
  const stopping = (of: ListedRun[]) => (
    <Stopping runs={of} cancelMany={cancelMany} onDone={done} />
  );
  const { rerender } = render(stopping(runs), { wrapper: Router });
  return { done, now: (next: ListedRun[]) => rerender(stopping(next)) };
}

async function confirm(title: string) {
  const asks = await screen.findByRole("alertdialog", { name: `${title}?` });
  fireEvent.click(within(asks).getByRole("button", { name: title }));
}

test("those at work are counted and stopped; what has ended stays as it ended", async () => {
  const { done } = shown(RUNS);
  screen.getByText("4 runs chosen");
  screen.getByText("2 not at work");
  fireEvent.click(screen.getByRole("button", { name: "Stop 2 runs" }));
  expect(stopped).toEqual([]);
  await confirm("Stop 2 runs");
  await waitFor(() => expect(done).toHaveBeenCalled());
  expect(stopped).toEqual(["run_working", "run_waiting"]);
});

test("one that ended while the question stood is left alone", async () => {
  const { done, now } = shown(RUNS);
  fireEvent.click(screen.getByRole("button", { name: "Stop 2 runs" }));
  now([listed("run_working", 5), ...RUNS.slice(1)]);
  await confirm("Stop 2 runs");
  await waitFor(() => expect(done).toHaveBeenCalled());
  expect(stopped).toEqual(["run_waiting"]);
});

test("where none is at work, the button says so and does nothing", () => {
  shown(RUNS.slice(2));
  const button = screen.getByRole("button", { name: "Stop" });
  expect(button.getAttribute("aria-disabled")).toBe("true");
  fireEvent.click(button);
  expect(screen.queryByRole("alertdialog")).toBeNull();
});

test("each that could not be stopped is named with the reason, until that is dismissed", async () => {
  refused = { run_waiting: "It is not yours." };
  shown(RUNS);
  fireEvent.click(screen.getByRole("button", { name: "Stop 2 runs" }));
  await confirm("Stop 2 runs");
  const note = await screen.findByText("1 run could not be stopped");
  expect(screen.getByText(/It is not yours/).textContent).toBe(
    "Title of run_waiting: It is not yours.",
  );
  fireEvent.click(screen.getByRole("button", { name: "Dismiss" }));
  expect(note.isConnected).toBe(false);
});

/** Tool calls as cards show them: what the events tell of them, and what the server's own rows do. */

import { alikeOrNew } from "./alike.js";
import type { Call, Event, ToolCallState } from "./api.js";
import type { RunToolCall } from "./state.js";

// A replay tells old news, and rows may be older than events: a call goes forward only.
const ORDER: Record<ToolCallState, number> = {
  WAITING: 0,
  READY: 1,
  RUNNING: 2,
  SUCCEEDED: 3,
  FAILED: 3,
  DENIED: 3,
  TIMED_OUT: 3,
  CANCELLED: 3,
  INTERRUPTED: 3,
};
const ENDED = ORDER.SUCCEEDED;

type CallEvent = Extract<
  Event,
  { __typename: "ToolCallStarted" | "ToolCallProgress" | "ToolCallFinished" | "SubagentStarted" }
>;

/** Whether nothing more will come of a call. */
export function hasEnded(state: ToolCallState): boolean {
  return ORDER[state] === ENDED;
}

/** The calls with what an event of run `runId` tells. */
export function withCallEvent(
  calls: RunToolCall[],
  event: CallEvent,
  runId: string,
): RunToolCall[] {
  const before = calls.find(({ id }) => id === event.toolCallId) ?? unknownCall(event, runId);
  const next = told(before, event);
  return next === before ? calls : replaced(calls, next);
}

function told(before: RunToolCall, event: CallEvent): RunToolCall {
  const over = hasEnded(before.state);
  switch (event.__typename) {
    case "ToolCallStarted": {
      const { name, input, at } = event;
      if (over) return before;
      return { ...before, name, input, state: "RUNNING", startedAt: before.startedAt ?? at };
    }
    case "ToolCallProgress": {
      if (over) return before;
      return { ...before, progress: { message: event.message, fraction: event.fraction } };
    }
    case "ToolCallFinished": {
      // How it failed (denied, timed out, …) only its row tells; the store asks for it.
      const state = over ? before.state : event.isError ? "FAILED" : "SUCCEEDED";
      const { name, input, result, isError } = event;
      const finishedAt = before.finishedAt ?? event.at;
      return { ...before, name, input, result, isError, state, finishedAt };
    }
    case "SubagentStarted":
      return { ...before, childRunId: event.runId };
  }
}

function unknownCall(event: CallEvent, runId: string): RunToolCall {
  return {
    id: event.toolCallId,
    runId,
    step: event.step,
    name: "",
    input: {},
    state: "READY",
    progress: null,
    result: null,
    isError: false,
    startedAt: null,
    finishedAt: null,
    reason: null,
    childRunId: null,
  };
}

/** The calls with the server's rows of them, where those are not behind what is known. */
export function withCallRows(calls: RunToolCall[], rows: Call[]): RunToolCall[] {
  if (rows.length === 0) return calls;
  const known = new Map(calls.map((call) => [call.id, call]));
  for (const row of rows) {
    const before = known.get(row.id);
    if (before && ORDER[row.state] < ORDER[before.state]) continue;
    const call = callOf(row, before);
    known.set(row.id, before ? alikeOrNew(before, call) : call);
  }
  const next = [...known.values()];
  const isSame = next.length === calls.length && next.every((call, at) => call === calls[at]);
  return isSame ? calls : next;
}

function callOf(row: Call, before: RunToolCall | undefined): RunToolCall {
  const { id, runId, step, name, input, state, result, isError, startedAt, finishedAt } = row;
  return {
    id,
    runId,
    step,
    name,
    input,
    state,
    progress: before?.progress ?? null,
    result,
    isError,
    startedAt,
    finishedAt,
    reason: row.reason,
    childRunId: row.childRun?.id ?? before?.childRunId ?? null,
  };
}

function replaced(calls: RunToolCall[], next: RunToolCall): RunToolCall[] {
  const at = calls.findIndex(({ id }) => id === next.id);
  return at < 0 ? [...calls, next] : calls.with(at, next);
}

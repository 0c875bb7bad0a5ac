/** What is said of a run in one word, from its row and what its stream has told since. */

import type { FinishReason, RunStatus } from "./api.js";
import type { Failure, RunState, Status } from "./state.js";

const WORDS: Record<Exclude<RunStatus, "RUNNING">, Status> = {
  IDLE: "idle",
  WAITING: "waiting",
  COMPLETED: "completed",
  FAILED: "failed",
  CANCELLED: "cancelled",
};

const ACTIVE: ReadonlySet<Status> = new Set(["queued", "running", "waiting", "cancelling"]);

// Trying the same again may help with these, and with no answer at all; the others want something changed first.
const RETRYABLE: ReadonlySet<string> = new Set([
  "NETWORK",
  "UNAVAILABLE",
  "RATE_LIMITED",
  "RUN_BUSY",
  "PROVIDER_ERROR",
  "PROVIDER_OVERLOADED",
  "PROVIDER_TIMEOUT",
  "RUN_INTERRUPTED",
  "RUN_TIMEOUT",
  "OUTPUT_INVALID",
]);

/** A failure from a code and a message of the API. */
export function failureOf({ code, message }: { code: string; message: string }): Failure {
  return { code, message, retryable: RETRYABLE.has(code) };
}

/** Whether something will still come of a run without anybody beginning a turn. */
export function isActive(status: Status): boolean {
  return ACTIVE.has(status);
}

/** Whether a turn has come to its end. */
export function isTerminal(status: Status): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** How the run stands. */
export function statusOf(state: RunState): Status {
  const { row, starting, cancelling } = state.memory;
  if (row === null) return starting ? "queued" : "idle";
  const status = newest(state);
  if (cancelling && (status === "RUNNING" || status === "WAITING")) return "cancelling";
  if (status !== "RUNNING") return WORDS[status];
  if (row.cancelRequested) return "cancelling";
  const taken = row.startedAt !== null || state.version?.streamId === row.streamId;
  return taken || streamIsAhead(state) ? "running" : "queued";
}

/** Why the last generation stopped; null while one is under way. */
export function finishOf(state: RunState): FinishReason | null {
  const { row, result } = state.memory;
  if (endedByResult(state)) return result?.finish ?? null;
  return streamIsAhead(state) ? null : (row?.finish ?? null);
}

/** The run's own error, where its last turn failed and nobody has put it away. */
export function runFailure(state: RunState): Failure | null {
  const { row, result, dismissed } = state.memory;
  if (newest(state) !== "FAILED") return null;
  const error = endedByResult(state) ? result?.error : row?.error;
  const streamId = endedByResult(state) ? result?.streamId : row?.streamId;
  return error && streamId !== dismissed ? failureOf(error) : null;
}

/** The checked answer, as the row has it or the last result. */
export function outputOf(state: RunState): unknown {
  const { row, result } = state.memory;
  return endedByResult(state) ? (result?.output ?? null) : (row?.output ?? null);
}

/** Row and stream come by different subscriptions: the one that has seen more speaks. */
function newest(state: RunState): RunStatus {
  const { row, result } = state.memory;
  if (row === null) return "IDLE";
  if (endedByResult(state) && result !== null) return result.status;
  return streamIsAhead(state) ? "RUNNING" : row.status;
}

/** Whether the stream has told of an end that the row has not. */
function endedByResult(state: RunState): boolean {
  const { row, result } = state.memory;
  if (row === null || result === null || state.version?.streamId !== result.streamId) return false;
  return row.streamId === result.streamId ? row.status === "RUNNING" : streamIsAhead(state);
}

/** Whether events of a later generation than the row's have come: streams are seen in their order. */
function streamIsAhead(state: RunState): boolean {
  const { row, seen } = state.memory;
  const { version } = state;
  if (row?.streamId == null || version === null || version.streamId === row.streamId) return false;
  return row.streamId in seen;
}

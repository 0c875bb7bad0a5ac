/** A run as a thread of assistant-ui shows it: what somebody said, and what the agent made of it. */

import type { Message } from "../api.js";
import type { Approval, PartialAnswer, QueuedInput, RunToolCall, RunView } from "../state.js";

/** Something that was said to the agent: in the transcript, or on its way there. */
export interface SaidEntry {
  kind: "said";
  id: string;
  message: Message | null;
  input: QueuedInput | null;
}

/**
 * All that the agent did between two things that were said to it: the answers of its steps, and the one that is being
 * written. Its id comes of what was said before, so it stays when what is written becomes a message.
 */
export interface AnswerEntry {
  kind: "answer";
  id: string;
  messages: Message[];
  calls: RunToolCall[];
  /** What waits for a person in it, of runs that its calls have begun too. */
  approvals: Approval[];
  partial: PartialAnswer | null;
  standing: Standing;
  /** Whether what it answers is not in the transcript yet. */
  isOptimistic: boolean;
}

export type Entry = SaidEntry | AnswerEntry;

/** How an answer stands, in assistant-ui's words. */
export type Standing =
  | { type: "running" }
  | { type: "requires-action"; reason: "interrupt" | "tool-calls" }
  | { type: "complete"; reason: "stop" }
  | { type: "incomplete"; reason: "cancelled" }
  | { type: "incomplete"; reason: "error"; error: string };

export type Shown = Pick<
  RunView,
  | "runId"
  | "messages"
  | "toolCalls"
  | "approvals"
  | "clientCalls"
  | "partial"
  | "queue"
  | "status"
  | "isActive"
  | "error"
>;

/** The entries of a run, in order. Those that say the same as one of `before` are the same objects. */
export function entriesOf(run: Shown, before: readonly Entry[] = []): Entry[] {
  const entries = stored(run);
  for (const input of run.queue) if (isSaid(input, run)) entries.push(saidInput(input));
  const last = entries.at(-1);
  if (run.partial) answerAtEnd(entries).partial = run.partial;
  else if (run.status === "failed" && last?.kind !== "answer") answerAtEnd(entries);
  const answer = entries.at(-1);
  if (answer?.kind === "answer") answer.standing = standingOf(run);
  const known = new Map(before.map((entry) => [entry.id, entry]));
  return entries.map((entry) => {
    const same = known.get(entry.id);
    return same && isAlike(same, entry) ? same : entry;
  });
}

/** Gives the entries of a run as it is at each call, the same list for as long as nothing of it has changed. */
export function rememberedEntries(): (run: Shown) => Entry[] {
  let last: Entry[] = [];
  return (run) => {
    const next = entriesOf(run, last);
    if (!areSame(next, last)) last = next;
    return last;
  };
}

/** Whether an input is shown where it was said: it is being read, or begins a turn. The others wait in the queue. */
export function isSaid(
  { state }: QueuedInput,
  { runId, isActive }: Pick<Shown, "runId" | "isActive">,
): boolean {
  return state === "applied" || (state === "sending" && (runId === null || !isActive));
}

function stored(run: Shown): Entry[] {
  const calls = new Map(run.toolCalls.map((call) => [call.id, call]));
  const entries: Entry[] = [];
  for (const message of run.messages) {
    if (message.role === "USER") {
      if (message.blocks.some(({ __typename }) => __typename !== "ToolResultBlock"))
        entries.push({ kind: "said", id: message.id, message, input: null });
      continue;
    }
    const answer = answerAtEnd(entries);
    answer.messages.push(message);
    for (const block of message.blocks) {
      const call = block.__typename === "ToolUseBlock" ? calls.get(block.toolCallId) : undefined;
      if (call === undefined) continue;
      answer.calls.push(call);
      answer.approvals.push(...approvalsOf(call, run));
    }
  }
  return entries;
}

function approvalsOf(call: RunToolCall, { approvals }: Shown): Approval[] {
  if (approvals.length === 0) return [];
  return approvals.filter(({ id, runId }) => id === call.id || runId === call.childRunId);
}

function saidInput(input: QueuedInput): SaidEntry {
  return { kind: "said", id: input.key, message: null, input };
}

/** The answer at the end, begun where there is none. */
function answerAtEnd(entries: Entry[]): AnswerEntry {
  const last = entries.at(-1);
  if (last?.kind === "answer") return last;
  const answer: AnswerEntry = {
    kind: "answer",
    id: `answer to ${last?.id ?? "nothing"}`,
    messages: [],
    calls: [],
    approvals: [],
    partial: null,
    standing: { type: "complete", reason: "stop" },
    isOptimistic: last?.kind === "said" && last.message === null,
  };
  entries.push(answer);
  return answer;
}

function standingOf({ status, error, approvals }: Shown): Standing {
  switch (status) {
    case "queued":
    case "running":
    case "cancelling":
      return { type: "running" };
    case "waiting":
      return {
        type: "requires-action",
        reason: approvals.length > 0 ? "interrupt" : "tool-calls",
      };
    case "failed":
      return { type: "incomplete", reason: "error", error: error?.message ?? "The run failed." };
    case "cancelled":
      return { type: "incomplete", reason: "cancelled" };
    case "idle":
    case "completed":
      return { type: "complete", reason: "stop" };
  }
}

function isAlike(one: Entry, other: Entry): boolean {
  if (one.kind === "said" || other.kind === "said")
    return (
      one.kind === "said" &&
      other.kind === "said" &&
      one.message === other.message &&
      one.input === other.input
    );
  return (
    one.partial === other.partial &&
    one.isOptimistic === other.isOptimistic &&
    JSON.stringify(one.standing) === JSON.stringify(other.standing) &&
    areSame(one.messages, other.messages) &&
    areSame(one.calls, other.calls) &&
    areSame(one.approvals, other.approvals)
  );
}

function areSame(one: readonly object[], other: readonly object[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

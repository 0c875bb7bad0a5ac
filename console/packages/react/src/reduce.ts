import { alikeOrNew } from "./alike.js";
import { shownAnswer, unstored, withDelta, withFinished } from "./answers.js";
import type { Event, Message, Row, Waiting } from "./api.js";
import { withCallEvent, withCallRows } from "./calls.js";
import type { RunEvent, Snapshot } from "./events.js";
import { accepted, sending, withApplied, withoutShown, withRow } from "./queue.js";
import type { Approval, Memory, RunState, Subrun } from "./state.js";
import { finishOf, isActive, outputOf, runFailure, statusOf } from "./status.js";

/**
 * The state after an event. Pure: it changes neither, and parts that stay as they are stay the same objects. What was
 * told before changes nothing, so events may come twice, and messages and rows before or after the events that they
 * belong to.
 */
export function reduce(state: RunState, event: RunEvent): RunState {
  const next = applied(state, event);
  return next === state ? state : derived(state, next);
}

function applied(state: RunState, event: RunEvent): RunState {
  switch (event.type) {
    case "snapshot":
      return withSnapshot(state, event.snapshot);
    case "row":
      return withNewRow(state, event.row, event.live);
    case "message":
      return withMessage(state, event.message);
    case "stream":
      return withStreamEvent(state, event.event);
    case "calls":
      return { ...state, toolCalls: withCallRows(state.toolCalls, event.calls) };
    case "connection":
      return { ...state, connection: event.connection };
    default:
      return withDeed(state, event);
  }
}

/** What the page itself does, shown before the server has answered. */
function withDeed(
  state: RunState,
  event: Exclude<
    RunEvent,
    { type: "snapshot" | "row" | "message" | "stream" | "calls" | "connection" }
  >,
): RunState {
  switch (event.type) {
    case "sending":
      return withInputs(state, sending(state, event));
    case "sent": {
      const known = event.row ? withNewRow(state, event.row, false) : state;
      return withInputs(known, accepted(known, event));
    }
    case "unsent": {
      const queue = state.queue.map((input) =>
        input.key === event.key
          ? { ...input, state: "failed" as const, error: event.failure }
          : input,
      );
      return { ...state, queue };
    }
    case "withdrawn":
      return { ...state, queue: state.queue.filter(({ key }) => key !== event.key) };
    case "starting":
      return remembering(state, { starting: event.on, blank: event.blank ?? state.memory.blank });
    case "cancelling":
      return remembering(state, { cancelling: event.on });
    case "deciding": {
      const left = Object.entries(state.memory.deciding).filter(([id]) => !event.ids.includes(id));
      const { decision } = event;
      const fresh = decision === null ? [] : event.ids.map((id) => [id, decision] as const);
      return remembering(state, { deciding: Object.fromEntries([...left, ...fresh]) });
    }
    case "failed":
      return remembering(state, { failure: event.failure });
    case "unreadable":
      return { ...remembering(state, { failure: event.failure }), isHydrating: false };
    case "clearError": {
      const { row, result } = state.memory;
      return remembering(state, {
        failure: null,
        dismissed: result?.streamId ?? row?.streamId ?? null,
      });
    }
  }
}

function remembering(state: RunState, more: Partial<Memory>): RunState {
  return { ...state, memory: { ...state.memory, ...more } };
}

function withInputs(
  state: RunState,
  { queue, sent, applied }: Pick<RunState, "queue"> & Pick<Memory, "sent" | "applied">,
): RunState {
  return { ...remembering(state, { sent, applied }), queue };
}

// ---------------------------------------------------------------- what the server tells

function withSnapshot(state: RunState, { row, messages, calls, children }: Snapshot): RunState {
  const settled = { step: row.steps, seq: messages.at(-1)?.seq ?? 0 };
  const subruns = children.map(
    ({ id, agent, status }): Subrun => ({
      runId: id,
      agent,
      status,
      toolCallId: calls.find(({ childRun }) => childRun?.id === id)?.id ?? null,
    }),
  );
  const known = remembering(state, { settled, held: [] });
  const toolCalls = withCallRows(state.toolCalls, calls);
  const read = { ...known, isHydrating: false, messages, toolCalls, subruns };
  const shown = withNewRow(read, row, false);
  const { sent, applied } = shown.memory;
  return { ...shown, queue: withoutShown(shown.queue, sent, applied, messages) };
}

function withNewRow(state: RunState, row: Row, live: boolean): RunState {
  const { row: before, cancelling } = state.memory;
  if (state.runId !== null && state.runId !== row.id) return state; // a decision's answer may be of a run below
  if (!live && before !== null && row.updatedAt < before.updatedAt) return state;
  const settled = row.status !== "RUNNING" && row.status !== "WAITING";
  const again = before !== null && row.streamId !== before.streamId;
  const known = remembering(state, {
    row,
    starting: false,
    cancelling: cancelling && !settled && !again,
  });
  const toolCalls = withCallRows(
    state.toolCalls,
    row.pendingCalls.filter(({ runId }) => runId === row.id),
  );
  const isHydrating = state.runId === null ? !state.memory.blank : state.isHydrating;
  return { ...known, runId: row.id, isHydrating, queue: withRow(state, row), toolCalls };
}

function withMessage(state: RunState, message: Message): RunState {
  const last = state.messages.at(-1)?.seq ?? 0;
  if (message.seq <= last) return state; // they come in order, so this one is there
  const messages = [...state.messages, message];
  const { held, sent, applied } = state.memory;
  const known = remembering(state, { held: unstored(held, messages) });
  return { ...known, messages, queue: withoutShown(state.queue, sent, applied, messages) };
}

function withStreamEvent(state: RunState, event: Event): RunState {
  const { seen } = state.memory;
  if (event.seq <= (seen[event.streamId] ?? 0)) return state;
  const version = { streamId: event.streamId, seq: event.seq };
  const marked = remembering(state, { seen: withSeen(seen, event) });
  return told({ ...marked, version }, event);
}

// Whoever comes back goes on in the last stream, so events of one that is this many streams old come no more.
const STREAMS_KEPT = 16;

function withSeen(seen: Memory["seen"], { streamId, seq }: Event): Memory["seen"] {
  if (streamId in seen) return { ...seen, [streamId]: seq };
  return Object.fromEntries([...Object.entries(seen).slice(1 - STREAMS_KEPT), [streamId, seq]]);
}

function told(state: RunState, event: Event): RunState {
  const { memory } = state;
  switch (event.__typename) {
    case "TextDelta":
    case "ReasoningDelta":
      return remembering(state, { held: withDelta(memory, event) });
    case "StepFinished":
      return { ...state, memory: withFinished(memory, event, state.messages) };
    case "StepRestarted":
      return remembering(state, { held: memory.held.filter(({ step }) => step !== event.step) });
    case "ToolCallStarted":
    case "ToolCallProgress":
    case "ToolCallFinished":
      return withCall(state, event);
    case "SubagentStarted": {
      const { runId, agent, toolCallId } = event;
      return withSubrun(withCall(state, event), { runId, agent, status: "RUNNING", toolCallId });
    }
    case "SubagentFinished":
      return withSubrunStatus(state, event.runId, event.status);
    case "CallsWaiting": {
      const own = event.calls.filter(({ runId }) => runId === state.runId);
      return { ...state, toolCalls: withCallRows(state.toolCalls, own) };
    }
    case "InputApplied":
      return withInputs(state, withApplied(state, event));
    case "RunResult":
      // What is shown of a step is stored by now or was withdrawn; the end of a stream is the end of any cancel.
      return remembering(state, {
        result: event,
        cancelling: false,
        held: memory.held.filter(({ messageSeq }) => messageSeq !== null),
      });
    default:
      return state; // InputQueued: the row has it. The others are for those who read the events themselves.
  }
}

function withCall(state: RunState, event: Parameters<typeof withCallEvent>[1]): RunState {
  return { ...state, toolCalls: withCallEvent(state.toolCalls, event, state.runId ?? "") };
}

function withSubrun(state: RunState, subrun: Subrun): RunState {
  const known = state.subruns.find(({ runId }) => runId === subrun.runId);
  if (known?.toolCallId) return state;
  const others = state.subruns.filter(({ runId }) => runId !== subrun.runId);
  const status = known?.status ?? subrun.status;
  return { ...state, subruns: [...others, { ...subrun, status }] };
}

function withSubrunStatus(state: RunState, id: string, status: Subrun["status"]): RunState {
  const subruns = state.subruns.map((subrun) =>
    subrun.runId === id ? { ...subrun, status } : subrun,
  );
  return { ...state, subruns };
}

// ---------------------------------------------------------------- what follows from it

/** What is said of a state, as far as it follows from the rest; `before` is the one that it came from. */
function derived(before: RunState, state: RunState): RunState {
  const { row, failure, deciding } = state.memory;
  const status = statusOf(state);
  const isSameRow = row === before.memory.row;
  const waits = !isSameRow || deciding !== before.memory.deciding;
  return {
    ...state,
    ...(isSameRow || row === null ? {} : ofRow(state, row)),
    ...(waits ? waiting(state, row?.pendingCalls ?? []) : {}),
    status,
    isActive: isActive(status),
    finish: finishOf(state),
    partial: shownAnswer(state.memory, state.messages),
    output: outputOf(state),
    error: failure ?? runFailure(state),
  };
}

/** What the row says, as it says it. */
function ofRow(state: RunState, row: Row): Partial<RunState> {
  const { agent, title, userId, parent, createdAt, startedAt, updatedAt, steps } = row;
  return {
    agent,
    title,
    userId,
    parentId: parent?.id ?? null,
    forkedFrom: alikeOrNew(state.forkedFrom, row.forkedFrom),
    createdAt,
    startedAt,
    updatedAt,
    metadata: alikeOrNew(state.metadata, row.metadata),
    steps,
    usage: alikeOrNew(state.usage, row.usage),
    budget: alikeOrNew(state.budget, row.budget),
  };
}

/** What waits for a person, and what for a client; the same lists where nothing of them has changed. */
function waiting(state: RunState, pending: Waiting[]): Pick<RunState, "approvals" | "clientCalls"> {
  const { deciding } = state.memory;
  const approvals = pending
    .filter(({ approvers }) => approvers !== null)
    .map((call): Approval => ({ ...call, deciding: deciding[call.id] ?? null }));
  const clientCalls = pending.filter(({ approvers }) => approvers === null);
  return {
    approvals: alikeOrNew(state.approvals, approvals),
    clientCalls: alikeOrNew(state.clientCalls, clientCalls),
  };
}

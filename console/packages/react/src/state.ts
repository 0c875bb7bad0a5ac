import type * as api from "./api.js";
import type {
  Budget,
  Call,
  FinishReason,
  Message,
  RunStatus,
  SteerMode,
  ToolCallState,
  WaitingCall,
} from "./names.js";

/**
 * What can be said of a run in one word. `queued`: it waits for a worker, or its start is on its way. `cancelling`: a
 * cancel is on its way to whoever works on it.
 */
export type Status =
  | "idle"
  | "queued"
  | "running"
  | "waiting"
  | "cancelling"
  | "completed"
  | "failed"
  | "cancelled";

/** The last event that was applied: its stream, and its number in that. */
export interface Version {
  streamId: string;
  seq: number;
}

/** A piece of an answer that is being written. `index` is its place in the answer. */
export interface PartialBlock {
  index: number;
  kind: "text" | "reasoning";
  text: string;
}

/** What is shown of an answer before it is stored as a message. */
export interface PartialAnswer {
  step: number;
  attempt: number;
  blocks: PartialBlock[];
}

/** A call of a tool as a card shows it. */
export interface RunToolCall {
  id: string;
  runId: string;
  step: number;
  name: string;
  input: api.Json;
  state: ToolCallState;
  /** What the tool said last of how far it is; `fraction` is from 0 to 1. */
  progress: { message: string; fraction: number | null } | null;
  result: api.Json | null;
  isError: boolean;
  startedAt: string | null;
  finishedAt: string | null;
  /** Why a person decided as they did. */
  reason: string | null;
  /** The run that the call began, where its tool is another agent. */
  childRunId: string | null;
}

/** A call that waits for a person, of this run or of one below it; it is decided under its own `runId`. */
export interface Approval extends WaitingCall {
  /** The decision that is on its way; null where none is. */
  deciding: api.Decision | null;
}

/** A file that goes with an input. */
export interface QueuedAttachment {
  name: string | null;
  mediaType: string;
}

/**
 * An input that was sent and is not in the transcript yet. `failed`: it could not be sent, and stands here so that its
 * text is not lost; `resend` tries again, `withdraw` drops it.
 */
export interface QueuedInput {
  /** Stays the same from sending to its end. */
  key: string;
  /** The server's id of it; null while it is on its way. */
  id: string | null;
  text: string;
  mode: SteerMode;
  /** The files that were sent with it from here; of inputs that others have sent the API tells none. */
  attachments: QueuedAttachment[];
  state: "sending" | "queued" | "applied" | "failed";
  error: Failure | null;
}

/** A run that one of this run's calls began. */
export interface Subrun {
  runId: string;
  agent: string;
  status: RunStatus;
  toolCallId: string | null;
}

/** What went wrong, as it is shown. `code` is one of the API's error codes, or NETWORK where no answer came. */
export interface Failure {
  code: string;
  message: string;
  /** Whether the same, tried again, may succeed. */
  retryable: boolean;
}

/** How the page stands with the server; nothing of it is the run's. */
export interface Connection {
  state: "connecting" | "live" | "reconnecting" | "offline";
  error: Failure | null;
}

/** A run as a page shows it. */
export interface RunView {
  runId: string | null;
  agent: string | null;
  title: string | null;
  /** Its owner. */
  userId: string | null;
  /** The run that began this one, as a call of its tool. */
  parentId: string | null;
  /** The message up to which this run is a copy of another. */
  forkedFrom: { runId: string; seq: number } | null;
  createdAt: string | null;
  /** When a worker took up the current or last generation. */
  startedAt: string | null;
  updatedAt: string | null;
  /** The caller's own tags; null before they are known. */
  metadata: api.Json;
  version: Version | null;
  status: Status;
  finish: FinishReason | null;
  isActive: boolean;
  isHydrating: boolean;
  messages: Message[];
  partial: PartialAnswer | null;
  toolCalls: RunToolCall[];
  approvals: Approval[];
  clientCalls: Call[];
  queue: QueuedInput[];
  subruns: Subrun[];
  steps: number;
  usage: api.Usage | null;
  budget: Budget | null;
  output: api.Json | null;
  error: Failure | null;
  connection: Connection;
}

/** An answer that is held until its message is there; `messageSeq` is known once its step has finished. */
export interface HeldAnswer extends PartialAnswer {
  messageSeq: number | null;
}

/** What a store needs to remember to keep its view right, and shows nobody. */
export interface Memory {
  row: api.Row | null;
  result: Extract<api.Event, { __typename: "RunResult" }> | null;
  /** The number of the last event of each stream, by its id. */
  seen: Record<string, number>;
  held: HeldAnswer[];
  /** Steps up to `step` have their messages at `seq` or below, and messages above `seq` belong to later steps. */
  settled: { step: number; seq: number };
  /** In which message each input is that was announced as applied. */
  applied: Record<string, number>;
  /** Of inputs on their way: the last message when they were sent, and how old a row must be to speak of them. */
  sent: Record<string, { afterSeq: number; since: string; begins: boolean }>;
  deciding: Record<string, api.Decision>;
  starting: boolean;
  /** Whether the run was begun here, with nothing said before. */
  blank: boolean;
  cancelling: boolean;
  failure: Failure | null;
  /** The run's error that somebody has put away, by the stream that ended with it. */
  dismissed: string | null;
}

/** A run's view with what is behind it. `reduce` makes the next one of it; nothing changes it in place. */
export interface RunState extends RunView {
  memory: Memory;
}

/** The state before anything is known. */
export function initialState(runId: string | null = null, agent: string | null = null): RunState {
  return {
    runId,
    agent,
    title: null,
    userId: null,
    parentId: null,
    forkedFrom: null,
    createdAt: null,
    startedAt: null,
    updatedAt: null,
    metadata: null,
    version: null,
    status: "idle",
    finish: null,
    isActive: false,
    isHydrating: runId !== null,
    messages: [],
    partial: null,
    toolCalls: [],
    approvals: [],
    clientCalls: [],
    queue: [],
    subruns: [],
    steps: 0,
    usage: null,
    budget: null,
    output: null,
    error: null,
    connection: { state: "connecting", error: null },
    memory: {
      row: null,
      result: null,
      seen: {},
      held: [],
      settled: { step: 0, seq: 0 },
      applied: {},
      sent: {},
      deciding: {},
      starting: false,
      blank: false,
      cancelling: false,
      failure: null,
      dismissed: null,
    },
  };
}

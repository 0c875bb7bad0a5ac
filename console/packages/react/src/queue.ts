/** The inputs between the composer and the transcript. */

import type { Event, Message, Row } from "./api.js";
import type { RunEvent } from "./events.js";
import type { Memory, QueuedInput, RunState } from "./state.js";

type Sending = Extract<RunEvent, { type: "sending" }>;
type Sent = Extract<RunEvent, { type: "sent" }>;
type Applied = Extract<Event, { __typename: "InputApplied" }>;
/** The two things about inputs that belong together. */
type Inputs = Pick<RunState, "queue"> & Pick<Memory, "sent" | "applied">;

/** An input is on its way, for the first time or again. */
export function sending(state: RunState, { key, text, mode, attachments = [] }: Sending): Inputs {
  const { sent, applied } = state.memory;
  const said = { key, id: null, text, mode, attachments };
  const input: QueuedInput = { ...said, state: "sending", error: null };
  const others = state.queue.filter((known) => known.key !== key);
  const afterSeq = state.messages.at(-1)?.seq ?? 0;
  return {
    queue: [...others, input],
    sent: { ...sent, [key]: { afterSeq, since: "", begins: false } },
    applied,
  };
}

/** The server has taken an input: it waits, or has begun a turn. */
export function accepted(state: RunState, { key, inputId, queued, row }: Sent): Inputs {
  const { applied } = state.memory;
  const before = state.memory.sent[key] ?? { afterSeq: 0, since: "", begins: false };
  const sent = {
    ...state.memory.sent,
    [key]: { ...before, begins: !queued, since: row?.updatedAt ?? "" },
  };
  const others = state.queue.filter((known) => known.id === null || known.id !== inputId);
  const isApplied = !queued || (inputId !== null && inputId in applied);
  const queue = others.map((known): QueuedInput => {
    if (known.key !== key) return known;
    return { ...known, id: inputId, state: isApplied ? "applied" : "queued", error: null };
  });
  return { queue: withoutShown(queue, sent, applied, state.messages), sent, applied };
}

/** The queue as the newest row has it, with what is only on its way. */
export function withRow(state: RunState, row: Row): QueuedInput[] {
  const { sent, applied } = state.memory;
  const waiting = row.pendingInput.filter(({ id }) => !(id in applied));
  const stays = (input: QueuedInput) =>
    input.state !== "queued" ||
    waiting.some(({ id }) => id === input.id) ||
    // A row from before the server took it says nothing of it.
    row.updatedAt < (sent[input.key]?.since ?? "");
  const known = state.queue.filter(stays);
  const unknown = waiting.filter(({ id }) => !known.some((input) => input.id === id));
  const fresh = unknown.map(
    ({ id, text, mode }): QueuedInput => ({
      key: id,
      id,
      text,
      mode,
      attachments: [],
      state: "queued",
      error: null,
    }),
  );
  const onTheirWay = known.findIndex((input) => input.state === "sending");
  const at = onTheirWay < 0 ? known.length : onTheirWay;
  return fresh.length || known.length < state.queue.length
    ? known.toSpliced(at, 0, ...fresh)
    : state.queue;
}

/** The model is about to read some inputs: they stay until the message that they are in is there. */
export function withApplied(state: RunState, { inputIds, messageSeq }: Applied): Inputs {
  const { sent } = state.memory;
  const news = Object.fromEntries(inputIds.map((id) => [id, messageSeq]));
  const applied = { ...state.memory.applied, ...news };
  const queue = state.queue.map((input): QueuedInput => {
    return input.id !== null && input.id in news ? { ...input, state: "applied" } : input;
  });
  return { queue: withoutShown(queue, sent, applied, state.messages), sent, applied };
}

/** The queue without the inputs whose message is in the transcript. */
export function withoutShown(
  queue: QueuedInput[],
  sent: Memory["sent"],
  applied: Memory["applied"],
  messages: Message[],
): QueuedInput[] {
  const last = messages.at(-1)?.seq ?? 0;
  const lastOfUser = messages.findLast(({ role }) => role === "USER")?.seq ?? 0;
  const left = queue.filter((input) => {
    if (input.state !== "applied") return true;
    const seq = input.id === null ? undefined : applied[input.id];
    // One that began a turn is announced by no event: it is the next message of a user.
    return seq === undefined ? lastOfUser <= (sent[input.key]?.afterSeq ?? 0) : seq > last;
  });
  return left.length === queue.length ? queue : left;
}

/** The answer that is being written: its text, and how it is handed over to the message that it becomes. */

import type { Event, Message } from "./api.js";
import type { HeldAnswer, Memory, PartialAnswer, PartialBlock } from "./state.js";

type Delta = Extract<Event, { __typename: "TextDelta" | "ReasoningDelta" }>;
type Finished = Extract<Event, { __typename: "StepFinished" }>;

/** The held answers with a piece of text more. Text of a step whose message is stored changes nothing. */
export function withDelta(memory: Memory, event: Delta): HeldAnswer[] {
  if (event.step <= memory.settled.step) return memory.held;
  const held = memory.held.find(({ step }) => step === event.step);
  if (held && held.attempt > event.attempt) return memory.held;
  const blocks = held?.attempt === event.attempt ? held.blocks : [];
  const next: HeldAnswer = {
    step: event.step,
    attempt: event.attempt,
    blocks: withText(blocks, event),
    messageSeq: null,
  };
  return [...memory.held.filter(({ step }) => step !== event.step), next];
}

function withText(blocks: PartialBlock[], event: Delta): PartialBlock[] {
  const kind = event.__typename === "TextDelta" ? "text" : "reasoning";
  const before = blocks.find(({ index }) => index === event.block);
  const kept = before?.kind === kind ? before.text.slice(0, event.offset) : "";
  const next: PartialBlock = { index: event.block, kind, text: kept + event.text };
  const others = blocks.filter(({ index }) => index !== event.block);
  return [...others, next].sort((a, b) => a.index - b.index);
}

/** The memory once a step's message is known: its answer is held until that message is there. */
export function withFinished(memory: Memory, event: Finished, messages: Message[]): Memory {
  const { step, messageSeq } = event;
  const settled = step > memory.settled.step ? { step, seq: messageSeq } : memory.settled;
  const sealed = memory.held.map((held) => (held.step === step ? { ...held, messageSeq } : held));
  return { ...memory, settled, held: unstored(sealed, messages) };
}

/** The held answers without those whose message is there. */
export function unstored(held: HeldAnswer[], messages: Message[]): HeldAnswer[] {
  const last = messages.at(-1)?.seq ?? 0;
  const left = held.filter(({ messageSeq }) => messageSeq === null || messageSeq > last);
  return left.length === held.length ? held : left;
}

/**
 * What is shown: the oldest answer whose message is not there. Messages and events come by different subscriptions, so a
 * message may be there before its StepFinished: then it is shown, and what is held of it is not.
 */
export function shownAnswer(memory: Memory, messages: Message[]): PartialAnswer | null {
  const [oldest] = memory.held;
  if (oldest === undefined || oldest.blocks.length === 0) return null;
  if (oldest.messageSeq === null && lastAnswer(messages) > memory.settled.seq) return null;
  return oldest;
}

/** Whether an answer begins to be shown: its first piece, its first words behind its reasoning, another answer. */
export function begins(before: PartialAnswer | null, after: PartialAnswer | null): boolean {
  if (after === null || before === after) return false;
  if (before?.step !== after.step || before.attempt !== after.attempt) return true;
  return hasWords(after) && !hasWords(before);
}

function hasWords({ blocks }: PartialAnswer): boolean {
  return blocks.some(({ kind }) => kind === "text");
}

function lastAnswer(messages: Message[]): number {
  return messages.findLast(({ role }) => role === "ASSISTANT")?.seq ?? 0;
}

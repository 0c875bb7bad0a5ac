import type { Event, Message, Row } from "../../src/api.js";
import type { RunEvent } from "../../src/events.js";
import events from "./recorded.json" with { type: "json" };

/**
 * What a real server told of one run, in the order in which it came: a turn with a slow tool, which was steered while the
 * tool ran, then a second turn that was cancelled.
 */
export const recorded = events as unknown as RunEvent[];

export type Told<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>;

function of<Type extends RunEvent["type"]>(type: Type): Told<Type>[] {
  return recorded.filter((event): event is Told<Type> => event.type === type);
}

export const rows = of("row");
export const messages = of("message");
export const stream = of("stream");

export const firstRow = rows[0]?.row as Row;
export const runId = firstRow.id;

/** In which message each step's answer is. */
export const messageOfStep = new Map(
  stream.flatMap(({ event }): [number, number][] =>
    event.__typename === "StepFinished" ? [[event.step, event.messageSeq]] : [],
  ),
);

export type { Event, Message };

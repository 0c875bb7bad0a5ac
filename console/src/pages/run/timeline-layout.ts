import type { ModelCall, RunToolCall } from "@steersman/react";

/** A thing that took time: a call of the model, or of a tool. */
export interface Span {
  key: string;
  kind: "model" | "tool";
  name: string;
  step: number;
  /** Milliseconds since the epoch; `to` is now where it goes on. */
  from: number;
  to: number;
  isOpen: boolean;
  failed: boolean;
  /** In USD; null for tools, and where no price is known. */
  cost: number | null;
}

/** A span with its place on the line, from 0 to 1. */
export interface Placed extends Span {
  start: number;
  width: number;
}

export interface Line {
  spans: Placed[];
  /** How long all of it took, without the idle time that was folded. */
  busyMs: number;
  /** How much idle time was folded. */
  idleMs: number;
}

// Idle time longer than this is shown as if it were this long.
const FOLD_MS = 2_000;
const LEAST_WIDTH = 0.004;

/** The calls of a run as spans, in the order in which they began. */
export function spansOf(calls: ModelCall[], tools: RunToolCall[], now: number): Span[] {
  const model = calls.map((call): Span => {
    const { id, step, attempt, startedAt, finishedAt, usage } = call;
    return {
      key: id,
      kind: "model",
      name: attempt > 1 ? `${call.model}, attempt ${attempt}` : call.model,
      step,
      from: Date.parse(startedAt),
      to: finishedAt ? Date.parse(finishedAt) : now,
      isOpen: finishedAt === null,
      failed: finishedAt !== null && call.stopReason === null,
      cost: usage.cost === null ? null : Number(usage.cost),
    };
  });
  const used = tools.flatMap((call): Span[] => {
    if (call.startedAt === null) return [];
    const { id, name, step, startedAt, finishedAt, isError } = call;
    const to = finishedAt ? Date.parse(finishedAt) : now;
    const from = Date.parse(startedAt);
    const isOpen = finishedAt === null;
    return [{ key: id, kind: "tool", name, step, from, to, isOpen, failed: isError, cost: null }];
  });
  return [...model, ...used].sort((a, b) => a.from - b.from || a.to - b.to);
}

/** Lays spans on one line on which idle time is folded. */
export function laidOut(spans: Span[]): Line {
  const folds = idle(spans);
  const first = spans[0]?.from ?? 0;
  const last = Math.max(first, ...spans.map(({ to }) => to));
  const shift = (time: number) =>
    folds.reduce((at, { from, to }) => {
      if (time <= from) return at;
      const within = Math.min(time, to) - from;
      const length = to - from;
      return at - within + (within / length) * FOLD_MS;
    }, time - first);
  const whole = Math.max(1, shift(last));
  const placed = spans.map((span): Placed => {
    const start = shift(span.from) / whole;
    const end = shift(Math.max(span.from, span.to)) / whole;
    return { ...span, start, width: Math.max(LEAST_WIDTH, end - start) };
  });
  const idleMs = folds.reduce((sum, { from, to }) => sum + to - from, 0);
  return { spans: placed, busyMs: last - first - idleMs, idleMs };
}

/** The times in which nothing went on, where they are long. */
function idle(spans: Span[]): Array<{ from: number; to: number }> {
  const folds: Array<{ from: number; to: number }> = [];
  let end = spans[0]?.to ?? 0;
  for (const { from, to } of spans) {
    if (from - end > FOLD_MS) folds.push({ from: end, to: from });
    end = Math.max(end, to);
  }
  return folds;
}

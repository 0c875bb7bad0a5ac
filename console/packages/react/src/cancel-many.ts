import { ask } from "./ask.js";
import { STOP } from "./documents.js";
import type { Failure } from "./state.js";
import type { Transport } from "./transport.js";

export interface CancelManyOptions {
  /** Why, in words, for the record. */
  reason?: string;
  /** How many are asked for at the same time; 4 by default. */
  atOnce?: number;
}

/** What came of cancelling runs. */
export interface CancelManyOutcome {
  /** The runs whose cancel was taken; they stop in a moment. */
  cancelled: string[];
  /** The runs that could not be cancelled, and why; in the order in which they were given. */
  failed: { runId: string; error: Failure }[];
}

/** Cancels runs, a few at a time. Never rejects, and one that can't be cancelled keeps no other from it. */
export async function cancelMany(
  transport: Transport,
  runIds: readonly string[],
  { reason, atOnce = 4 }: CancelManyOptions = {},
): Promise<CancelManyOutcome> {
  const wanted = [...new Set(runIds)];
  const errors = new Map<string, Failure>();
  const left = [...wanted];
  const work = async () => {
    for (let runId = left.shift(); runId !== undefined; runId = left.shift()) {
      const input = { runId, ...(reason && { reason }) };
      const { error } = await ask(transport, () => false, STOP, { input }, "cancelRun");
      if (error) errors.set(runId, error);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, atOnce) }, work));
  return {
    cancelled: wanted.filter((runId) => !errors.has(runId)),
    failed: wanted.flatMap((runId) => {
      const error = errors.get(runId);
      return error ? [{ runId, error }] : [];
    }),
  };
}

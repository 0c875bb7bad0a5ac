import type { FormattedExecutionResult } from "graphql";
import type { Sink } from "graphql-ws";

/** What the response pane can show. */
export type Shown = FormattedExecutionResult | Gathered;

interface Gathered {
  /** Why no more will come, where the connection was lost. */
  closed?: string;
  /** The newest first. */
  events: FormattedExecutionResult[];
  /** How many came before the oldest one shown. */
  earlier?: number;
}

// The pane lays its text out anew each time, so it is neither given more often than this nor more than it can bear.
const PAUSE_MS = 80;
const KEPT = 200;

/**
 * The results of a subscription as GraphiQL iterates them. `return()` leaves it at once, also while none comes.
 *
 * @param start begins the subscription and gives what ends it.
 * @param keep true: each value holds all that came, newest first, of which the last 200 whole; false: the newest alone.
 */
export function watch(
  start: (sink: Sink<FormattedExecutionResult>) => () => void,
  keep: boolean,
): AsyncIterableIterator<Shown> {
  const events: FormattedExecutionResult[] = [];
  let earlier = 0;
  let closed: string | undefined;
  let news = false;
  let ended = false;
  let failure: unknown;
  let wake = () => {};

  const stop = start({
    next(result) {
      if (events.unshift(result) > (keep ? KEPT : 1)) {
        events.pop();
        earlier += 1;
      }
      news = true;
      wake();
    },
    error(error) {
      closed = closing(error);
      if (closed === undefined) failure = error;
      news = closed !== undefined;
      ended = true;
      wake();
    },
    complete() {
      ended = true;
      wake();
    },
  });

  const shown = (): Shown => {
    const [newest] = events;
    if (!keep && closed === undefined && newest !== undefined) return newest;
    return {
      ...(closed !== undefined && { closed }),
      events: [...events],
      ...(earlier > 0 && { earlier }),
    };
  };

  return {
    async next() {
      if (news) await pause();
      while (!news && !ended)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (news) {
        news = false;
        return { done: false, value: shown() };
      }
      if (failure !== undefined) {
        const error = failure;
        failure = undefined;
        throw error;
      }
      return { done: true, value: undefined };
    },
    async return() {
      stop();
      news = false;
      ended = true;
      wake();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

/** Why the socket was closed, where that is what ended the subscription. */
function closing(error: unknown): string | undefined {
  if (!(error instanceof CloseEvent)) return undefined;
  return `The connection was closed: ${error.code} ${error.reason || "without a reason"}`;
}

import type { Event, EventsSubscriptionVariables } from "./api.js";
import { EVENTS } from "./documents.js";
import { follow } from "./follow.js";
import type { Connection, Failure } from "./state.js";
import { failureOf } from "./status.js";
import type { Transport } from "./transport.js";
import { Watched } from "./watched.js";

export interface EventLogOptions {
  transport: Transport;
  runId: string;
  /** The generation to begin with, by its stream; the current or last one without it. Later ones follow. */
  streamId?: string | null;
  /** How many events are kept, the newest; 2,000 by default. */
  size?: number;
  /** What comes is shown this often at most, in milliseconds; 80 by default. */
  throttleMs?: number;
}

/** The events of a run, raw, as any client of the API gets them. */
export interface EventLogView {
  /** The newest ones, in the order in which they came. */
  events: Event[];
  /** How many older ones were let go for these. */
  dropped: number;
  /** Why nothing more comes; null while it does. */
  error: Failure | null;
  connection: Connection;
}

export interface EventLog {
  subscribe(listener: () => void): () => void;
  getSnapshot(): EventLogView;
  dispose(): void;
}

/**
 * A log of a run's events, for those who want to see them as they are: kept only while somebody watches, and gone on with
 * behind the last one after a lost connection.
 *
 * It has a subscription of its own. The store of the run drops events once it has applied them, and a log that is opened
 * later wants all of the generation.
 */
export function createEventLog(options: EventLogOptions): EventLog {
  const { transport, size = 2_000, throttleMs = 80 } = options;
  const connection = transport.connection.getSnapshot();
  const watched: Watched<EventLogView> = new Watched<EventLogView>(
    { events: [], dropped: 0, error: null, connection },
    throttleMs,
    open,
  );

  function open(): () => void {
    const show = (more: Partial<EventLogView>) => watched.set({ ...watched.state, ...more }, true);
    const told = () => show({ connection: transport.connection.getSnapshot() });
    const unlisten = transport.connection.subscribe(told);
    told();
    show({ error: null });
    const leave = follow(transport, EVENTS, () => behind(options, watched.state.events.at(-1)), {
      next: ({ runStream }) => watched.set(withEvent(watched.state, runStream, size)),
      refused: (error) => show({ error: failureOf(error) }),
    });
    return () => {
      unlisten();
      leave();
    };
  }

  return {
    subscribe: (listener) => watched.subscribe(listener),
    getSnapshot: () => watched.getSnapshot(),
    dispose: () => watched.dispose(),
  };
}

function behind(
  { runId, streamId = null }: EventLogOptions,
  last: Event | undefined,
): EventsSubscriptionVariables {
  if (last === undefined) return { runId, streamId };
  return { runId, streamId: last.streamId, after: last.seq };
}

function withEvent(view: EventLogView, event: Event, size: number): EventLogView {
  const last = view.events.at(-1);
  if (last?.streamId === event.streamId && event.seq <= last.seq) return view; // told again
  const tooMany = Math.max(0, view.events.length + 1 - size);
  const events = [...view.events.slice(tooMany), event];
  return { ...view, events, dropped: view.dropped + tooMany };
}

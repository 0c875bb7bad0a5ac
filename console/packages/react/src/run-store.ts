import type { RunActions } from "./actions.js";
import { begins } from "./answers.js";
import type { Call, Event, EventsSubscriptionVariables } from "./api.js";
import { hasEnded } from "./calls.js";
import { EARLIER_CALLS, EVENTS, MESSAGES, ROWS } from "./documents.js";
import type { RunEvent } from "./events.js";
import { follow, persist } from "./follow.js";
import { hydrate } from "./hydrate.js";
import { newKey } from "./keys.js";
import { reduce } from "./reduce.js";
import { runActions } from "./run-actions.js";
import { initialState, type RunState } from "./state.js";
import { failureOf } from "./status.js";
import { asTransportError, type Transport, type TransportError } from "./transport.js";
import { Watched } from "./watched.js";

export interface RunStoreOptions {
  transport: Transport;
  /** The run to show; without it there is none until `start` or `steer` begins one. */
  runId?: string | null;
  /** The agent that `start` begins a run of. */
  agent?: string | null;
  /** What changes is shown this often at most, in milliseconds; 80 by default. */
  throttleMs?: number;
  /** Makes the idempotency keys. */
  key?: () => string;
}

/** A run, kept as it is on the server for as long as somebody watches. */
export interface RunStore extends RunActions {
  /** Calls `listener` at each change; the first one who watches connects, and when the last has left it disconnects. */
  subscribe(listener: () => void): () => void;
  getSnapshot(): RunState;
  /** Leaves the server for good. It cancels nothing. */
  dispose(): void;
}

const REFETCH_MS = 50;

/** A store of one run. Nothing is asked of the server before somebody watches or acts. */
export function createRunStore(options: RunStoreOptions): RunStore {
  const live = new LiveRun(options);
  const { watched } = live;
  const actions = runActions({
    transport: options.transport,
    key: options.key ?? newKey,
    state: () => watched.state,
    dispatch: (event) => live.dispatch(event, true),
    gone: () => watched.disposed,
  });
  return {
    ...actions,
    subscribe: (listener) => watched.subscribe(listener),
    getSnapshot: () => watched.getSnapshot(),
    connect: () => watched.stayAway(false),
    disconnect: () => live.disconnect(),
    dispose: () => watched.dispose(),
  };
}

/** Feeds a state with what the server tells of its run. */
class LiveRun {
  readonly watched: Watched<RunState>;
  readonly #transport: Transport;
  /** Failed calls of which the server has said how. */
  readonly #explained = new Set<string>();
  #isRead = false;
  #refetch: ReturnType<typeof setTimeout> | undefined;

  constructor({ transport, runId = null, agent = null, throttleMs = 80 }: RunStoreOptions) {
    this.#transport = transport;
    this.watched = new Watched(initialState(runId, agent), throttleMs, () => this.#open());
  }

  dispatch(event: RunEvent, now = false): void {
    const before = this.watched.state;
    const next = reduce(before, event);
    // The first words of an answer are waited for; what follows them may take its turn.
    this.watched.set(next, now || begins(before.partial, next.partial));
    if (before.runId === null && next.runId !== null) this.watched.begin();
    if (event.type === "stream") this.#askHowItFailed(event.event);
  }

  disconnect(): void {
    this.watched.stayAway(true);
    this.dispatch({ type: "connection", connection: { state: "offline", error: null } }, true);
  }

  #open(): (() => void) | null {
    const { runId } = this.watched.state;
    if (runId === null) return null;
    const { connection } = this.#transport;
    const told = () =>
      this.dispatch({ type: "connection", connection: connection.getSnapshot() }, true);
    const leaving = [connection.subscribe(told), () => clearTimeout(this.#refetch)];
    const session: Session = { open: true };
    void this.#begin(runId, session, leaving);
    told();
    return () => {
      session.open = false;
      for (const leave of leaving) leave();
    };
  }

  /** Snapshot first, then what follows it. Whoever was connected before goes on behind what is there. */
  async #begin(runId: string, session: Session, leaving: (() => void)[]): Promise<void> {
    if (!this.#isRead && !this.watched.state.memory.blank) {
      try {
        const snapshot = await persist(() => hydrate(this.#transport, runId), {
          tries: Number.POSITIVE_INFINITY,
          gone: () => !session.open,
          failed: (error) => session.open && error.retryable && this.#lost(error),
        });
        if (!session.open) return;
        this.#isRead = true;
        this.dispatch({ type: "snapshot", snapshot }, true);
      } catch (error) {
        if (session.open) this.#refused(asTransportError(error));
        return;
      }
    }
    leaving.push(...this.#follow(runId));
  }

  #follow(runId: string): (() => void)[] {
    const transport = this.#transport;
    const refused = (error: TransportError) => this.#refused(error);
    const lastSeq = () => this.watched.state.messages.at(-1)?.seq ?? 0;
    return [
      follow(transport, ROWS, () => ({ id: runId }), {
        next: ({ run }) => this.dispatch({ type: "row", row: run, live: true }),
        refused,
      }),
      follow(transport, MESSAGES, () => ({ runId, afterSeq: lastSeq() }), {
        next: ({ messages }) => this.dispatch({ type: "message", message: messages }),
        refused,
      }),
      follow(transport, EVENTS, () => this.#behind(runId), {
        next: ({ runStream }) => this.dispatch({ type: "stream", event: runStream }),
        refused,
      }),
    ];
  }

  /** Where the events go on: behind the last one, else with the generation that the row told of. */
  #behind(runId: string): EventsSubscriptionVariables {
    const { version, memory } = this.watched.state;
    if (version) return { runId, streamId: version.streamId, after: version.seq };
    return { runId, streamId: memory.row?.streamId ?? null };
  }

  #lost(error: TransportError): void {
    const connection = { state: "reconnecting", error: failureOf(error) } as const;
    this.dispatch({ type: "connection", connection }, true);
  }

  /** Nothing more will come until somebody connects again. */
  #refused(error: TransportError): void {
    this.watched.end();
    const failure = failureOf(error);
    if (error.answered) this.dispatch({ type: "unreadable", failure }, true);
    else
      this.dispatch({ type: "connection", connection: { state: "offline", error: failure } }, true);
  }

  /** An event tells that a call failed; whether it was denied, timed out or broke, its row does. */
  #askHowItFailed(event: Event): void {
    if (event.__typename !== "ToolCallFinished" || !event.isError) return;
    const { toolCalls, runId } = this.watched.state;
    const call = toolCalls.find(({ id }) => id === event.toolCallId);
    const unsure = call?.state === "FAILED" && !this.#explained.has(call.id);
    if (!unsure || runId === null || this.#refetch !== undefined) return;
    this.#refetch = setTimeout(() => {
      this.#refetch = undefined;
      void this.#transport.query(EARLIER_CALLS, { id: runId }).then(
        ({ run }) => this.#explain(run?.toolCalls.nodes ?? []),
        () => {}, // it stays FAILED, which it is too
      );
    }, REFETCH_MS);
  }

  #explain(calls: Call[]): void {
    for (const { id, state } of calls) if (hasEnded(state)) this.#explained.add(id);
    this.dispatch({ type: "calls", calls });
  }
}

interface Session {
  open: boolean;
}

import { alikeOrNew } from "./alike.js";
import type { ModelCall, ModelCallsQuery } from "./api.js";
import { MODEL_CALLS } from "./documents.js";
import { persist } from "./follow.js";
import type { RunStore } from "./run-store.js";
import type { Failure } from "./state.js";
import { failureOf } from "./status.js";
import { asTransportError, type Transport, TransportError } from "./transport.js";
import { Watched } from "./watched.js";

/** What a run asked of models: for a timeline, and for what each step took and cost. */
export interface ModelCallsView {
  /** In the order in which they were begun. One that is under way has no `finishedAt`. */
  calls: ModelCall[];
  isLoading: boolean;
  error: Failure | null;
}

export interface ModelCallsStore {
  subscribe(listener: () => void): () => void;
  getSnapshot(): ModelCallsView;
  dispose(): void;
}

export interface ModelCallsOptions {
  transport: Transport;
  /** The store of the run: what it tells of steps and of the status says when there is something to read. */
  run: RunStore;
}

// What comes of a step (its row, its message, its text) comes within this, and is read for once.
const PAUSE_MS = 100;

/** A store of the calls of a model that a run has made. It is read when somebody watches, and again as steps begin and end. */
export function createModelCallsStore(options: ModelCallsOptions): ModelCallsStore {
  const live = new LiveModelCalls(options);
  const { watched } = live;
  return {
    subscribe: (listener) => watched.subscribe(listener),
    getSnapshot: () => watched.getSnapshot(),
    dispose: () => watched.dispose(),
  };
}

class LiveModelCalls {
  readonly watched: Watched<ModelCallsView>;
  readonly #transport: Transport;
  readonly #run: RunStore;
  /** What the run was like when the calls were read last. */
  #read: string | null = null;

  constructor({ transport, run }: ModelCallsOptions) {
    this.#transport = transport;
    this.#run = run;
    const view = { calls: [], isLoading: true, error: null };
    this.watched = new Watched<ModelCallsView>(view, 0, () => this.#open());
  }

  #open(): () => void {
    const session: Session = { open: true, busy: false, timer: undefined };
    this.#read = null; // what came meanwhile nobody has told
    const told = () => {
      session.timer ??= setTimeout(() => void this.#look(session), PAUSE_MS);
    };
    const unlisten = this.#run.subscribe(told);
    void this.#look(session);
    return () => {
      session.open = false;
      clearTimeout(session.timer);
      unlisten();
    };
  }

  /** Reads where there may be something new; what comes while it reads is read behind that. */
  async #look(session: Session): Promise<void> {
    session.timer = undefined;
    if (session.busy) return;
    session.busy = true;
    for (let now = this.#now(); session.open && now !== this.#read; now = this.#now()) {
      this.#read = now;
      await this.#update(session);
    }
    session.busy = false;
  }

  /** What of a run changes where its calls of a model do. */
  #now(): string | null {
    const { runId, isHydrating, steps, status, partial } = this.#run.getSnapshot();
    if (runId === null || isHydrating) return this.#read;
    return JSON.stringify([runId, steps, status, partial && [partial.step, partial.attempt]]);
  }

  async #update(session: Session): Promise<void> {
    const { runId } = this.#run.getSnapshot();
    if (runId === null) return;
    const gone = () => !session.open;
    try {
      const tries = Number.POSITIVE_INFINITY;
      const fresh = await persist(() => this.#unknown(runId), { tries, gone });
      if (gone()) return;
      const calls = merged(this.watched.state.calls, fresh);
      this.watched.set({ calls, isLoading: false, error: null });
    } catch (reason) {
      const error = failureOf(asTransportError(reason));
      if (!gone()) this.watched.set({ ...this.watched.state, isLoading: false, error });
    }
  }

  /** The newest calls, back to one that is known and has ended: of those before it nothing changes any more. */
  async #unknown(id: string): Promise<ModelCall[]> {
    const ended = new Set(
      this.watched.state.calls.flatMap((call) => (call.finishedAt === null ? [] : [call.id])),
    );
    const found: ModelCall[] = [];
    let before: string | null = null;
    for (;;) {
      const { nodes, pageInfo } = await this.#page(id, before);
      found.unshift(...nodes);
      before = pageInfo.startCursor;
      const [first] = nodes;
      if (!pageInfo.hasPreviousPage || first === undefined || ended.has(first.id)) return found;
    }
  }

  async #page(id: string, before: string | null): Promise<Page> {
    const { run } = await this.#transport.query(MODEL_CALLS, { id, before });
    if (run === null) throw new TransportError("RUN_NOT_FOUND", "There is no such run.");
    return run.modelCalls;
  }
}

type Page = NonNullable<ModelCallsQuery["run"]>["modelCalls"];

interface Session {
  open: boolean;
  busy: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** The known calls with the fresh ones behind or in the place of them; those that say the same stay the same objects. */
function merged(known: ModelCall[], fresh: ModelCall[]): ModelCall[] {
  const calls = new Map(known.map((call) => [call.id, call]));
  for (const call of fresh) {
    const before = calls.get(call.id);
    calls.set(call.id, before ? alikeOrNew(before, call) : call);
  }
  return [...calls.values()];
}

import type { Listed, RunChangesSubscription, RunFilter } from "./api.js";
import { RUN_CHANGES, RUNS } from "./documents.js";
import { follow, persist, twice } from "./follow.js";
import type { Connection, Failure } from "./state.js";
import { failureOf } from "./status.js";
import { asTransportError, type Transport } from "./transport.js";
import { Watched } from "./watched.js";

export interface RunsOptions {
  transport: Transport;
  filter?: RunFilter;
  /** How many at a time, 1 to 100; 50 by default. */
  first?: number;
  throttleMs?: number;
}

/** A live list of runs, the newest first. */
export interface RunsView {
  runs: Listed[];
  isLoading: boolean;
  hasMore: boolean;
  error: Failure | null;
  connection: Connection;
}

export interface RunsStore {
  subscribe(listener: () => void): () => void;
  getSnapshot(): RunsView;
  /** Reads the next page of older runs. */
  loadMore(): Promise<void>;
  dispose(): void;
}

type Change = RunChangesSubscription["runs"];

/** A store of the runs that fit a filter: it subscribes to their changes, then reads them. */
export function createRunsStore(options: RunsOptions): RunsStore {
  const live = new LiveRuns(options);
  const { watched } = live;
  return {
    subscribe: (listener) => watched.subscribe(listener),
    getSnapshot: () => watched.getSnapshot(),
    loadMore: () => live.loadMore(),
    dispose: () => watched.dispose(),
  };
}

class LiveRuns {
  readonly watched: Watched<RunsView>;
  readonly #transport: Transport;
  readonly #filter: RunFilter | null;
  readonly #first: number;
  #cursor: string | null = null;
  /** Counts the readings of the list, so that an older answer is told from a newer one. */
  #reading = 0;
  /** The changes since a reading began; null where none is under way. */
  #since: Change[] | null = null;

  constructor({ transport, filter, first = 50, throttleMs = 80 }: RunsOptions) {
    this.#transport = transport;
    this.#filter = filter ?? null;
    this.#first = first;
    const connection = transport.connection.getSnapshot();
    const view = { runs: [], isLoading: true, hasMore: false, error: null, connection };
    this.watched = new Watched<RunsView>(view, throttleMs, () => this.#open());
  }

  async loadMore(): Promise<void> {
    const after = this.#cursor;
    if (!this.watched.state.hasMore || after === null) return;
    const reading = this.#reading;
    try {
      const page = await this.#page(this.#first, after);
      if (reading !== this.#reading) return; // read anew from the top meanwhile
      this.#cursor = page.pageInfo.endCursor;
      const runs = merged(this.watched.state.runs, page.nodes);
      this.#show({ runs, hasMore: page.pageInfo.hasNextPage }, true);
    } catch (error) {
      this.#show({ error: failureOf(asTransportError(error)) }, true);
    }
  }

  #open(): () => void {
    const session = { open: true };
    const { connection } = this.#transport;
    const told = () => this.#show({ connection: connection.getSnapshot() });
    const unlisten = connection.subscribe(told);
    told();
    const look = twice(() => void this.#read(session));
    const leave = follow(this.#transport, RUN_CHANGES, () => ({ filter: this.#filter }), {
      // Changes alone come, so after each pause the list is read anew.
      opened: () => look.again(),
      next: ({ runs }) => this.#changed(runs),
      refused: (error) => this.#show({ error: failureOf(error), isLoading: false }),
    });
    return () => {
      session.open = false;
      unlisten();
      look.stop();
      leave();
    };
  }

  async #read(session: { open: boolean }): Promise<void> {
    this.#reading += 1;
    const reading = this.#reading;
    const gone = () => !session.open || reading !== this.#reading;
    this.#since = [];
    try {
      const wanted = Math.min(100, Math.max(this.#first, this.watched.state.runs.length));
      const page = await persist(() => this.#page(wanted, null), {
        tries: Number.POSITIVE_INFINITY,
        gone,
      });
      if (gone()) return;
      const runs = (this.#since ?? []).reduce(withChange, page.nodes);
      this.#since = null;
      this.#cursor = page.pageInfo.endCursor;
      const { hasNextPage: hasMore } = page.pageInfo;
      this.#show({ runs, hasMore, isLoading: false, error: null });
    } catch (error) {
      if (!gone()) this.#show({ error: failureOf(asTransportError(error)), isLoading: false });
    }
  }

  async #page(first: number, after: string | null) {
    return (await this.#transport.query(RUNS, { filter: this.#filter, first, after })).runs;
  }

  #changed(change: Change): void {
    this.#since?.push(change);
    this.#show({ runs: withChange(this.watched.state.runs, change) });
  }

  #show(more: Partial<RunsView>, now = false): void {
    this.watched.set({ ...this.watched.state, ...more }, now);
  }
}

function withChange(runs: Listed[], { kind, runId, run }: Change): Listed[] {
  if (kind === "REMOVED" || run === null) return runs.filter(({ id }) => id !== runId);
  const known = runs.find(({ id }) => id === runId);
  if (known && known.updatedAt > run.updatedAt) return runs; // the list was read behind this change
  return merged(
    runs.filter(({ id }) => id !== runId),
    [run],
  );
}

/** Both, the newest first. */
function merged(runs: Listed[], more: Listed[]): Listed[] {
  const known = new Set(runs.map(({ id }) => id));
  const all = [...runs, ...more.filter(({ id }) => !known.has(id))];
  return all.sort((a, b) => b.createdAt.localeCompare(a.createdAt) || b.id.localeCompare(a.id));
}

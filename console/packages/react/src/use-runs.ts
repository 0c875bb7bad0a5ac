import { useMemo, useState, useSyncExternalStore } from "react";
import { type CancelManyOptions, type CancelManyOutcome, cancelMany } from "./cancel-many.js";
import { changesSince, withOlder } from "./frozen.js";
import type { ListedRun } from "./names.js";
import { useTransport } from "./provider.js";
import { createRunsStore, type RunsOptions, type RunsStore, type RunsView } from "./runs-store.js";
import { sharedStore } from "./shared.js";

export interface UseRunsOptions extends Omit<RunsOptions, "transport"> {
  /** Whether the list stands still, while a person reads it; `waiting` tells what it does not show. */
  frozen?: boolean;
}

export interface UseRuns extends RunsView {
  /** How many runs are new, gone or changed since the list was frozen; 0 where it is not. */
  waiting: number;
  /** Reads the next page of older runs; a list that is frozen has them at its end. */
  loadMore(): Promise<void>;
  /** Cancels runs, a few at a time, and tells which could not be. */
  cancelMany(runIds: readonly string[], options?: CancelManyOptions): Promise<CancelManyOutcome>;
}

/** The viewer's runs that fit a filter, the newest first, live. */
export function useRuns({ frozen = false, ...options }: UseRunsOptions = {}): UseRuns {
  const transport = useTransport();
  const wanted = JSON.stringify(options);
  const store = useMemo(() => {
    const given = JSON.parse(wanted) as Omit<RunsOptions, "transport">;
    return sharedStore(transport, `runs ${wanted}`, () => createRunsStore({ transport, ...given }));
  }, [transport, wanted]);
  const view = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  const [held, hold] = useHeld(store, view, frozen);
  return {
    ...view,
    runs: held ?? view.runs,
    waiting: held === null ? 0 : changesSince(held, view),
    async loadMore() {
      await store.loadMore();
      hold((runs) => withOlder(runs, store.getSnapshot().runs));
    },
    cancelMany: (runIds, more) => cancelMany(transport, runIds, more),
  };
}

interface Held {
  store: RunsStore;
  runs: ListedRun[];
}

/** The list as it was when it was frozen, null while it is not; and what changes it all the same. */
function useHeld(
  store: RunsStore,
  view: RunsView,
  frozen: boolean,
): [ListedRun[] | null, (change: (runs: ListedRun[]) => ListedRun[]) => void] {
  const [held, setHeld] = useState<Held | null>(null);
  const isOurs = held?.store === store;
  // A list that is not read yet is not worth keeping; React renders again with what is set here at once.
  if (frozen && !isOurs && !view.isLoading) setHeld({ store, runs: view.runs });
  if (!frozen && held !== null) setHeld(null);
  const hold = (change: (runs: ListedRun[]) => ListedRun[]) =>
    setHeld((now) => (now?.store === store ? { store, runs: change(now.runs) } : now));
  return [frozen && isOurs ? held.runs : null, hold];
}

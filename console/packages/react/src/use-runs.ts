import { useMemo, useSyncExternalStore } from "react";
import { useTransport } from "./provider.js";
import { createRunsStore, type RunsOptions, type RunsView } from "./runs-store.js";
import { sharedStore } from "./shared.js";

export type UseRunsOptions = Omit<RunsOptions, "transport">;

export interface UseRuns extends RunsView {
  /** Reads the next page of older runs. */
  loadMore(): Promise<void>;
}

/** The viewer's runs that fit a filter, the newest first, live. */
export function useRuns(options: UseRunsOptions = {}): UseRuns {
  const transport = useTransport();
  const wanted = JSON.stringify(options);
  const store = useMemo(() => {
    const given = JSON.parse(wanted) as UseRunsOptions;
    return sharedStore(transport, `runs ${wanted}`, () => createRunsStore({ transport, ...given }));
  }, [transport, wanted]);
  const view = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  return { ...view, loadMore: store.loadMore };
}

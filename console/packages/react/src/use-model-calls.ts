import { useMemo, useSyncExternalStore } from "react";
import { createModelCallsStore, type ModelCallsView } from "./model-calls-store.js";
import { useTransport } from "./provider.js";
import { createRunStore } from "./run-store.js";
import { sharedStore } from "./shared.js";

export interface UseModelCallsOptions {
  /** The run; null where there is none yet. */
  runId: string | null;
}

/** What a run asked of models, read anew as its steps begin and end. It shares the run's connection with `useRun`. */
export function useModelCalls({ runId }: UseModelCallsOptions): ModelCallsView {
  const transport = useTransport();
  const store = useMemo(() => {
    if (runId === null) return { subscribe: () => () => {}, getSnapshot: () => NOTHING };
    return sharedStore(transport, `model calls ${runId}`, () => {
      const run = sharedStore(transport, `run ${runId}`, () =>
        createRunStore({ transport, runId }),
      );
      return createModelCallsStore({ transport, run });
    });
  }, [transport, runId]);
  return useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
}

const NOTHING: ModelCallsView = { calls: [], isLoading: false, error: null };

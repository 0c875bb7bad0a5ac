import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { RunActions } from "./actions.js";
import { useTransport } from "./provider.js";
import { createRunStore, type RunStore } from "./run-store.js";
import { sharedStore } from "./shared.js";
import type { RunView, Status } from "./state.js";
import { isTerminal } from "./status.js";
import type { Transport } from "./transport.js";

export interface UseRunOptions {
  /** The run to show; without it there is none until `start` or `steer` begins one. */
  runId?: string | null;
  /** The agent that `start` and `steer` begin a run of. */
  agent?: string | null;
  /** Told of each change of the status, not of the one that the run was found in. */
  onStatus?: (status: Status, run: RunView) => void;
  /** Told when a turn ends while the run is shown. */
  onFinish?: (run: RunView) => void;
  /** What changes is shown this often at most, in milliseconds; 80 by default. Components that share a run share it. */
  throttleMs?: number;
}

/** A run, live, and what can be done with it. */
export interface UseRun extends RunView, RunActions {}

/** Shows a run as it goes on. Components that show the same run share one subscription; unmounting cancels nothing. */
export function useRun(options: UseRunOptions = {}): UseRun {
  const transport = useTransport();
  const store = useRunStore(transport, options);
  const state = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  useTold(state, options);
  const { memory, ...view } = state;
  const { subscribe, getSnapshot, dispose, ...actions } = store;
  return { ...view, ...actions };
}

function useRunStore(transport: Transport, options: UseRunOptions): RunStore {
  const { runId = null, agent = null, throttleMs = 80 } = options;
  const wanted = JSON.stringify([runId, agent]);
  const make = (): Kept => {
    const fresh = () => createRunStore({ transport, runId, agent, throttleMs });
    const store = runId === null ? fresh() : sharedStore(transport, `run ${runId}`, fresh);
    return { transport, wanted, store };
  };
  const [kept, keep] = useState(make);
  const begun = kept.store.getSnapshot().runId;
  // A page that began a run, and now names it, goes on with the store that began it.
  const goesOn = kept.wanted === wanted || (runId !== null && begun === runId);
  if (kept.transport !== transport || !goesOn) {
    const next = make();
    keep(next); // another run is wanted: React renders again with its store at once
    return next.store;
  }
  // Whoever else shows the run that was begun here shares what is asked for it.
  if (begun !== null) sharedStore(transport, `run ${begun}`, () => kept.store);
  return kept.store;
}

interface Kept {
  transport: Transport;
  wanted: string;
  store: RunStore;
}

function useTold(run: RunView, { onStatus, onFinish }: UseRunOptions): void {
  const before = useRef<{ runId: string | null; status: Status } | null>(null);
  useEffect(() => {
    const { runId, status } = run;
    // An end is told once the last message is there too.
    if (run.isHydrating || (isTerminal(status) && run.partial !== null)) return;
    const known = before.current;
    before.current = { runId, status };
    const found = known === null || (known.runId !== runId && known.runId !== null);
    if (found || known.status === status) return;
    onStatus?.(status, run);
    if (isTerminal(status)) onFinish?.(run);
  });
}

import type { RunActions } from "./actions.js";
import { ask } from "./ask.js";
import { type Desk, NO_RUN } from "./desk.js";
import { FORK } from "./documents.js";

// With these nobody knows whether it was done.
const UNKNOWN: ReadonlySet<string> = new Set(["NETWORK", "UNAVAILABLE"]);

/** How the run on a desk is forked. */
export function forkAction(desk: Desk): RunActions["fork"] {
  /** The keys of forks of which nobody knows whether they were done, by what was asked for. */
  const unanswered = new Map<string, string>();
  return async (seq, said) => {
    const { runId } = desk.state();
    if (runId === null) return { runId: null, error: NO_RUN };
    const deed = JSON.stringify([runId, seq, said]);
    const key = unanswered.get(deed) ?? desk.key();
    unanswered.set(deed, key);
    const input = { runId, seq, key, ...(said === undefined ? {} : { input: said }) };
    const answered = await ask(desk.transport, desk.gone, FORK, { input }, "forkRun");
    if (!UNKNOWN.has(answered.error?.code ?? "")) unanswered.delete(deed);
    return { runId: answered.payload?.run?.id ?? null, error: answered.error };
  };
}

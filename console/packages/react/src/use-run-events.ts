import { useMemo, useSyncExternalStore } from "react";
import { createEventLog, type EventLogOptions, type EventLogView } from "./event-log.js";
import { useTransport } from "./provider.js";
import { sharedStore } from "./shared.js";

export interface UseRunEventsOptions extends Omit<EventLogOptions, "transport" | "runId"> {
  /** The run; null where none is to be followed. */
  runId: string | null;
}

/**
 * The raw events of a run, as they come, for a drawer or a log. They are asked for and kept only while a component shows
 * them; components that show the same ones share one subscription.
 */
export function useRunEvents(options: UseRunEventsOptions): EventLogView {
  const transport = useTransport();
  const wanted = JSON.stringify(options);
  const log = useMemo(() => {
    const { runId, ...more } = JSON.parse(wanted) as UseRunEventsOptions;
    if (runId === null) return { subscribe: () => () => {}, getSnapshot: () => NOTHING };
    const name = `events ${wanted}`;
    return sharedStore(transport, name, () => createEventLog({ transport, runId, ...more }));
  }, [transport, wanted]);
  return useSyncExternalStore(log.subscribe, log.getSnapshot, log.getSnapshot);
}

const NOTHING: EventLogView = {
  events: [],
  dropped: 0,
  error: null,
  connection: { state: "connecting", error: null },
};

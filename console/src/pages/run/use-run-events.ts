import { type Operation, useTransport } from "@steersman/react";
import { stringifyDocument } from "@urql/core";
import { useEffect, useState } from "react";
import type { RunEventsSubscription, RunEventsSubscriptionVariables } from "./api";
import { RUN_EVENTS } from "./documents";

export type StreamEvent = RunEventsSubscription["runStream"];

const OPERATION: Operation<RunEventsSubscription, RunEventsSubscriptionVariables> = {
  text: stringifyDocument(RUN_EVENTS),
};

// More than a person reads, and little enough to keep.
const KEPT = 2_000;
const PAUSE_MS = 100;

/** The events of a run's generations from the current one on, as they come, while `on`; the last two thousand. */
export function useRunEvents(runId: string, on: boolean): StreamEvent[] {
  const transport = useTransport();
  const [events, setEvents] = useState<StreamEvent[]>([]);
  useEffect(() => {
    if (!on) return;
    let all: StreamEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = () => {
      timer = undefined;
      setEvents(all);
    };
    const behind = () => {
      const last = all.at(-1);
      return last ? { runId, streamId: last.streamId, after: last.seq } : { runId };
    };
    const leave = transport.subscribe(OPERATION, behind, {
      next: ({ runStream }) => {
        all = [...all.slice(1 - KEPT), runStream];
        timer ??= setTimeout(show, PAUSE_MS);
      },
      error: () => {},
      complete: () => {},
    });
    return () => {
      leave();
      clearTimeout(timer);
    };
  }, [transport, runId, on]);
  return events;
}

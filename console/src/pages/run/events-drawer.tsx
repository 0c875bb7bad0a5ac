import { type StreamEvent, useRunEvents } from "@steersman/react";
import { useState } from "react";
import { CopyButton, cx, Dialog, Empty, ErrorNote, Scrolling } from "../../ui";
import css from "./events-drawer.module.css";

type Show = "all" | "steps" | "failures";

const DELTAS = ["TextDelta", "ReasoningDelta", "ToolCallProgress"];

const SHOWN: Record<Show, (event: StreamEvent) => boolean> = {
  all: () => true,
  steps: ({ __typename }) => !DELTAS.includes(__typename),
  failures: (event) =>
    event.__typename === "StepRestarted" ||
    (event.__typename === "ToolCallFinished" && event.isError) ||
    (event.__typename === "RunResult" && event.error !== null),
};

interface EventsDrawerProps {
  runId: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** The raw events of a run, as any client of the API gets them. */
export function EventsDrawer({ runId, open, onOpenChange }: EventsDrawerProps) {
  const { events, dropped, error } = useRunEvents({ runId: open ? runId : null });
  const [show, setShow] = useState<Show>("all");
  const shown = events.filter(SHOWN[show]);
  return (
    <Dialog drawer wide open={open} onOpenChange={onOpenChange} title="Events">
      <div className={css.tools}>
        <select
          aria-label="Which events"
          className={css.show}
          value={show}
          onChange={(event) => setShow(event.currentTarget.value as Show)}
        >
          <option value="all">All events</option>
          <option value="steps">Without deltas</option>
          <option value="failures">Failures</option>
        </select>
        <span className={css.count}>
          {shown.length} shown, the newest first
          {dropped > 0 && `, ${dropped} older ones let go`}
        </span>
        <CopyButton named label="Copy as JSON" text={JSON.stringify(shown, null, 2)} />
      </div>
      {error && <ErrorNote title="The events can't be read" problem={error} />}
      {shown.length === 0 ? (
        <Empty title="No events">They appear here as they come.</Empty>
      ) : (
        <Scrolling label="Events" className={css.list}>
          <ol className={css.events}>
            {shown.toReversed().map((event) => (
              <Event key={`${event.streamId} ${event.seq}`} event={event} />
            ))}
          </ol>
        </Scrolling>
      )}
    </Dialog>
  );
}

function Event({ event }: { event: StreamEvent }) {
  const { __typename, streamId, seq, step, attempt, at, ...rest } = event;
  return (
    <li className={cx(css.event, SHOWN.failures(event) && css.failed)}>
      <span className={css.seq}>{seq}</span>
      <span className={css.type}>{__typename}</span>
      <time className={css.at} dateTime={at}>
        {at.slice(11, 23)}
      </time>
      <code className={css.rest}>{JSON.stringify({ step, attempt, ...rest })}</code>
    </li>
  );
}

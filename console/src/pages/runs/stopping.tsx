import type { CancelManyOutcome, ListedRun, UseRuns } from "@steersman/react";
import { Square } from "lucide-react";
import { useRef, useState } from "react";
import { Link } from "wouter";
import { announce, Button, Confirm, CopyButton, Note } from "../../ui";
import css from "./stopping.module.css";

/** A run that could not be stopped, and what it is called. */
type NotStopped = CancelManyOutcome["failed"][number] & { title: string };

interface StoppingProps {
  /** The runs that are chosen, as they are now. */
  runs: ListedRun[];
  cancelMany: UseRuns["cancelMany"];
  onDone: () => void;
}

/** Whether there is something to stop. The API takes a cancel of a run that has ended too, and calls it CANCELLED. */
function isAtWork({ status, cancelRequested }: ListedRun): boolean {
  return (status === "RUNNING" && !cancelRequested) || status === "WAITING";
}

function counted(count: number): string {
  return count === 1 ? "1 run" : `${count} runs`;
}

/** Stops those of the chosen runs that are at work, once they were counted, and says which could not be. */
export function Stopping({ runs, cancelMany, onDone }: StoppingProps) {
  // The window keeps its words while it closes, whatever becomes of the choice.
  const [asked, setAsked] = useState<ListedRun[]>([]);
  const [asks, setAsks] = useState(false);
  const [left, setLeft] = useState<NotStopped[]>([]);
  const now = useRef(runs);
  now.current = runs;
  const atWork = runs.filter(isAtWork);
  const ended = runs.length - atWork.length;

  const stop = async () => {
    // What has ended since the question was asked is left as it ended.
    const still = new Set(now.current.filter(isAtWork).map(({ id }) => id));
    const ids = asked.map(({ id }) => id).filter((id) => still.has(id));
    const { failed } = await cancelMany(ids);
    const titles = new Map(asked.map(({ id, title }) => [id, title ?? "Untitled run"]));
    setLeft(failed.map((one) => ({ ...one, title: titles.get(one.runId) ?? one.runId })));
    announce(`${ids.length - failed.length} of ${counted(asked.length)} told to stop`);
    onDone();
  };

  return (
    <>
      {runs.length > 0 && (
        <div className={css.chosen} role="toolbar" aria-label="Chosen runs">
          <strong>{counted(runs.length)} chosen</strong>
          {ended > 0 && <span className={css.rest}>{ended} not at work</span>}
          <Button
            small
            look="danger"
            icon={<Square />}
            reason={atWork.length > 0 ? undefined : "None of them is at work"}
            onClick={() => {
              setAsked(atWork);
              setAsks(true);
            }}
          >
            {atWork.length > 0 ? `Stop ${counted(atWork.length)}` : "Stop"}
          </Button>
          <Button small onClick={onDone}>
            Choose none
          </Button>
        </div>
      )}
      {left.length > 0 && <Left left={left} onDismiss={() => setLeft([])} />}
      <Confirm
        open={asks}
        onOpenChange={setAsks}
        danger
        title={`Stop ${counted(asked.length)}?`}
        description="Each stops where it is. What it has shown is kept, and it can be gone on with later."
        confirm={`Stop ${counted(asked.length)}`}
        onConfirm={stop}
      />
    </>
  );
}

/** Which could not be stopped, and why. */
function Left(props: { left: NotStopped[]; onDismiss: () => void }) {
  const { left, onDismiss } = props;
  const text = left.map(({ runId, error: { code, message } }) => `${runId}: ${code}: ${message}`);
  return (
    <Note
      tone="error"
      title={`${counted(left.length)} could not be stopped`}
      onDismiss={onDismiss}
      actions={<CopyButton text={text.join("\n")} label="Copy errors" named />}
    >
      <ul className={css.left}>
        {left.map(({ runId, title, error }) => (
          <li key={runId}>
            <Link href={`/runs/${runId}`}>{title}</Link>: {error.message}
          </li>
        ))}
      </ul>
    </Note>
  );
}

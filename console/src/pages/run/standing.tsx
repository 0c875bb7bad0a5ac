import type { FinishReason, UseRun } from "@steersman/react";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { Button, ErrorNote, Json, Note, TextField, useNow } from "../../ui";
import css from "./standing.module.css";

// A worker that is there takes a run within a moment.
const LONG_MS = 10_000;

/** How the run stands at the end of its transcript: at work, waiting for a worker, stopped, failed, and what to do. */
export function Standing({ run, isOwn }: { run: UseRun; isOwn: boolean }) {
  return (
    <>
      {run.output !== null && (
        <section className={css.output} aria-label="Output">
          <h3>Output</h3>
          <Json value={run.output} label="Output" />
        </section>
      )}
      <AtWork run={run} />
      {run.error && <Failed run={run} error={run.error} isOwn={isOwn} />}
      {run.status === "cancelled" && (
        <Note
          title="Stopped"
          actions={
            isOwn && (
              <Button small icon={<RotateCcw />} onClick={() => void run.retry()}>
                Go on
              </Button>
            )
          }
        >
          What was shown is kept. It goes on from the last completed step, or with what you say
          next.
        </Note>
      )}
      {run.status === "completed" && run.finish !== "STOP" && <Cut finish={run.finish} />}
    </>
  );
}

function AtWork({ run }: { run: UseRun }) {
  if (run.status === "queued") return <Waiting since={run.updatedAt} />;
  if (run.status === "cancelling") {
    const busy = run.toolCalls.filter(({ state }) => state === "RUNNING").map(({ name }) => name);
    return (
      <p className={css.work} role="status">
        Stopping{busy.length > 0 && `: waiting for ${busy.join(", ")}`}…
      </p>
    );
  }
  const silent = run.partial === null && !run.toolCalls.some(({ state }) => state === "RUNNING");
  if (run.status !== "running" || !silent) return null;
  return (
    <p className={css.work}>
      <span className={css.dots} aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span className="sr-only">The agent is at work</span>
    </p>
  );
}

function Waiting({ since }: { since: string | null }) {
  const now = useNow();
  const long = since !== null && now - Date.parse(since) > LONG_MS;
  if (!long) return <p className={css.work}>Waiting for a worker…</p>;
  return (
    <Note tone="warning" title="No worker has taken this run yet">
      Look whether one is running (<code>steersman worker</code>, or <code>serve</code> with{" "}
      <code>STEERSMAN_WORKER=on</code>) and has room. The run waits, and nothing of it is lost.
    </Note>
  );
}

function Failed(props: { run: UseRun; error: NonNullable<UseRun["error"]>; isOwn: boolean }) {
  const { run, error, isOwn } = props;
  const isFailed = run.status === "failed";
  const [budget, setBudget] = useState("");
  const asks = isFailed && error.code === "BUDGET_SPENT";
  const more = asks && Number(budget) > 0 ? { budget: { cost: budget } } : {};
  return (
    <ErrorNote
      title={isFailed ? "The run failed" : "That was not done"}
      problem={error}
      onDismiss={run.clearError}
      actions={
        isFailed &&
        isOwn && (
          <>
            {asks && (
              <TextField
                label="New budget in USD"
                inputMode="decimal"
                value={budget}
                onChange={(event) => setBudget(event.currentTarget.value)}
              />
            )}
            <Button
              small
              look="primary"
              icon={<RotateCcw />}
              reason={asks && !more.budget ? "Say how much it may spend" : undefined}
              onClick={() => void run.retry(more)}
            >
              Retry
            </Button>
          </>
        )
      }
    />
  );
}

function Cut({ finish }: { finish: FinishReason | null }) {
  if (finish === "LENGTH")
    return (
      <Note tone="warning" title="The answer was cut at its longest">
        Say “go on” for the rest.
      </Note>
    );
  if (finish === "CONTENT_FILTER")
    return <Note tone="warning" title="The model's maker refused to answer" />;
  return null;
}

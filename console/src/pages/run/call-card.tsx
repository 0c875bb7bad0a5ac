import type { RunToolCall, Subrun, ToolCallState } from "@steersman/react";
import { Bot, ChevronRight, Wrench } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { label } from "../../parts/words/label";
import { Badge, cx, Json, StatusBadge, type Tone, Took } from "../../ui";
import css from "./call-card.module.css";

const STATES: Record<ToolCallState, [tone: Tone, word: string]> = {
  READY: ["neutral", "Ready"],
  WAITING: ["amber", "Waiting"],
  RUNNING: ["blue", "Running"],
  SUCCEEDED: ["green", "Done"],
  FAILED: ["red", "Failed"],
  DENIED: ["red", "Denied"],
  TIMED_OUT: ["red", "Timed out"],
  CANCELLED: ["neutral", "Stopped"],
  INTERRUPTED: ["red", "Interrupted"],
};

interface CallCardProps {
  name: string;
  input: unknown;
  /** Where it stands; null while that is not known. */
  call: RunToolCall | null;
  subrun: Subrun | undefined;
}

/** A call of a tool, folded: what it is, how it stands, how long it took; open, what went in and what came out. */
export function CallCard({ name, input, call, subrun }: CallCardProps) {
  const [open, setOpen] = useState(false);
  const [tone, word] = STATES[call?.state ?? "READY"];
  const Icon = call?.childRunId ? Bot : Wrench;
  return (
    <section className={css.card} aria-label={`Tool: ${label(name)}`}>
      <button
        type="button"
        className={css.head}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <ChevronRight aria-hidden="true" className={cx(css.arrow, open && css.opened)} />
        <Icon size={15} aria-hidden="true" />
        <span className={css.name}>{label(name)}</span>
        <span className={css.brief}>{brief(input)}</span>
        <Badge tone={tone} dot pulse={call?.state === "RUNNING"}>
          {word}
        </Badge>
        {call?.startedAt && (
          <span className={css.time}>
            <Took from={call.startedAt} to={call.finishedAt} />
          </span>
        )}
      </button>
      {call?.state === "RUNNING" && call.progress && <Progress {...call.progress} />}
      {call?.childRunId && (
        <p className={css.child}>
          <Link href={`/runs/${call.childRunId}`}>Its own run</Link>
          {subrun && <StatusBadge status={subrun.status} />}
        </p>
      )}
      {open && (
        <div className={css.body}>
          <h4 className={css.part}>Arguments</h4>
          <Json value={call?.input ?? input} label="Arguments" />
          {call?.reason && (
            <p>
              <strong>Reason:</strong> {call.reason}
            </p>
          )}
          {call !== null && call.result !== null && (
            <>
              <h4 className={css.part}>{call.isError ? "Error" : "Result"}</h4>
              <Json value={call.result} label={call.isError ? "Error" : "Result"} />
            </>
          )}
        </div>
      )}
    </section>
  );
}

/** The arguments in a line. */
function brief(input: unknown): string {
  if (typeof input !== "object" || input === null) return String(input ?? "");
  return Object.values(input)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join(", ");
}

function Progress({ message, fraction }: { message: string; fraction: number | null }) {
  return (
    <div className={css.progress}>
      {fraction !== null && <progress value={fraction} max={1} aria-label="Progress" />}
      <span>{message}</span>
    </div>
  );
}

import { useRun } from "@steersman/react";
import { SearchX } from "lucide-react";
import { useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useShortcuts } from "../../app/shortcuts";
import { useViewer } from "../../session/viewer";
import {
  announce,
  Button,
  Empty,
  ErrorNote,
  Note,
  Page,
  Skeleton,
  StatusBadge,
  statusWord,
} from "../../ui";
import { Details } from "./details";
import { EventsDrawer } from "./events-drawer";
import { ForkDialog } from "./fork-dialog";
import { RunMenu } from "./menu";
import css from "./page.module.css";
import { Speak } from "./speak";
import { StopButton } from "./stop-button";
import { Transcript } from "./transcript";

/** A run: what was said and done, live, and everything that one can do about it. */
export default function RunPage({ id }: { id: string }) {
  const run = useRun({
    runId: id,
    onStatus: (status) => announce(`The run is ${statusWord(status).toLowerCase()}`),
  });
  const viewer = useViewer();
  const [fork, setFork] = useState<number | null>(null);
  const [events, setEvents] = useState(false);
  const [details, setDetails] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const [, navigate] = useLocation();
  useShortcuts("This run", [
    { keys: ".", label: "Write to the agent", run: () => field.current?.focus() },
    { keys: "s", label: "Stop the run", run: () => run.isActive && void run.cancel() },
    { keys: "e", label: "Show its events", run: () => setEvents(true) },
    { keys: "i", label: "Show its details", run: () => setDetails(true) },
    { keys: "u", label: "Back to the runs", run: () => navigate("/") },
  ]);

  if (run.error?.code === "RUN_NOT_FOUND" && run.createdAt === null) return <Missing />;
  if (run.isHydrating)
    return (
      <Page title="Run">
        {run.error ? (
          <ErrorNote title="The run can't be read" problem={run.error} />
        ) : (
          <Skeleton rows={6} />
        )}
      </Page>
    );
  const isOwn = run.userId === viewer.id;
  const title = run.title ?? "Untitled run";
  return (
    <Page
      fill
      title={title}
      above={<Above parentId={run.parentId} forkedFrom={run.forkedFrom} />}
      description={
        <span className={css.about}>
          <StatusBadge status={run.status} />
          <span>{run.agent}</span>
        </span>
      }
      actions={
        <>
          <StopButton run={run} />
          <Button className={css.more} onClick={() => setDetails(true)}>
            Details
          </Button>
          <RunMenu run={run} onEvents={() => setEvents(true)} />
        </>
      }
    >
      <div className={css.parts}>
        <div className={css.talk}>
          <Transcript run={run} isOwn={isOwn} onFork={setFork} />
          {isOwn ? (
            <Speak run={run} field={field} />
          ) : (
            <Note title={`It belongs to ${run.userId}`}>
              As an administrator you read it and may stop it. Its owner alone speaks to it.
            </Note>
          )}
        </div>
        <aside className={css.side} aria-label="Details">
          <Details run={run} />
        </aside>
      </div>
      <Details.Drawer run={run} open={details} onOpenChange={setDetails} />
      <EventsDrawer runId={id} open={events} onOpenChange={setEvents} />
      <ForkDialog run={run} seq={fork} onClose={() => setFork(null)} />
    </Page>
  );
}

function Above({
  parentId,
  forkedFrom,
}: {
  parentId: string | null;
  forkedFrom: { runId: string; seq: number } | null;
}) {
  return (
    <nav aria-label="Where this run comes from" className={css.above}>
      <Link href="/">Runs</Link>
      {parentId && (
        <>
          {" / "}
          <Link href={`/runs/${parentId}`}>The run that asked for it</Link>
        </>
      )}
      {forkedFrom && (
        <>
          {" / "}
          <Link href={`/runs/${forkedFrom.runId}#m${forkedFrom.seq}`}>
            Forked from message {forkedFrom.seq}
          </Link>
        </>
      )}
    </nav>
  );
}

function Missing() {
  return (
    <Page title="No such run">
      <Empty
        icon={<SearchX />}
        title="There is no such run"
        actions={<Link href="/">All runs</Link>}
      >
        It was removed, or it belongs to somebody else.
      </Empty>
    </Page>
  );
}

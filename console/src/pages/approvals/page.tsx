import { type UseApprovals, useApprovals } from "@steersman/react";
import { Check, CircleCheckBig, X } from "lucide-react";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { useShortcuts } from "../../app/shortcuts";
import { ApprovalCard } from "../../parts/approvals/approval-card";
import { announce, Button, Card, Empty, ErrorNote, Page, Skeleton } from "../../ui";
import css from "./page.module.css";
import { focusCard, focusedCard, useKeptFocus } from "./use-kept-focus";
import { useNews } from "./use-news";

/** Everything that waits for the viewer's decision, whoever's run it is. */
export default function ApprovalsPage() {
  const inbox = useApprovals();
  const { approvals, isLoading, error } = inbox;
  const [decided] = useState(() => new Set<string>());
  const [alones] = useState(() => new Set<string>());
  useKeptFocus(useMemo(() => approvals.map(({ id }) => id), [approvals]));
  useNews(approvals, isLoading, decided);
  useShortcuts("Approvals", [
    { keys: "j", label: "Next call", run: () => focusCard(focusedCard() + 1) },
    { keys: "k", label: "Previous call", run: () => focusCard(focusedCard() - 1) },
    // The card itself listens; it stands here to be found.
    { keys: "Mod+Enter", label: "Approve the call that has the focus", run: () => {} },
  ]);
  const runIds = [...new Set(approvals.map(({ runId }) => runId))];
  return (
    <Page title="Approvals" description="Calls that agents make only once you have agreed.">
      {error && alones.size === 0 && (
        <ErrorNote title="That did not work" problem={error} onDismiss={inbox.clearError} />
      )}
      {isLoading && approvals.length === 0 && <Skeleton />}
      {!isLoading && error === null && approvals.length === 0 && (
        <Card>
          <Empty icon={<CircleCheckBig />} title="Nothing waits for you">
            When an agent wants to do something that needs a person's consent, it appears here, and
            at the run itself.
          </Empty>
        </Card>
      )}
      {runIds.map((runId) => (
        <OfRun key={runId} inbox={inbox} runId={runId} decided={decided} alones={alones} />
      ))}
    </Page>
  );
}

interface OfRunProps {
  inbox: UseApprovals;
  runId: string;
  /** Gets the calls that are decided here. */
  decided: Set<string>;
  /** Has those whose own card is being answered, and tells what becomes of that. */
  alones: Set<string>;
}

/** What one run waits for. */
function OfRun({ inbox, runId, decided, alones }: OfRunProps) {
  const calls = inbox.approvals.filter((call) => call.runId === runId);
  const one = async (id: string, outcome: ReturnType<UseApprovals["approve"]>) => {
    decided.add(id);
    const { error } = await outcome;
    if (error !== null) decided.delete(id);
    return { error };
  };
  const alone = async (id: string, outcome: ReturnType<UseApprovals["approve"]>) => {
    alones.add(id);
    const { error } = await one(id, outcome);
    if (error !== null) inbox.clearError(); // the call's own card says it
    alones.delete(id);
    return { error };
  };
  const all = async (decide: UseApprovals["approve"] | UseApprovals["deny"], said: string) => {
    const outcomes = await Promise.all(calls.map(({ id }) => one(id, decide(id))));
    const done = outcomes.filter(({ error }) => error === null).length;
    announce(`${done} of ${calls.length} ${said}`);
  };
  const deciding = (decision: string) => calls.every((call) => call.deciding === decision);
  return (
    <section className={css.run} aria-label={`Run ${runId}`}>
      <header className={css.head}>
        <Link href={`/runs/${runId}`}>A run of {calls[0]?.agent}</Link>
        {calls.length > 1 && (
          <span className={css.all}>
            <Button
              small
              icon={<Check />}
              busy={deciding("APPROVE")}
              onClick={() => void all(inbox.approve, "approved")}
            >
              Approve all {calls.length}
            </Button>
            <Button
              small
              icon={<X />}
              busy={deciding("DENY")}
              onClick={() => void all(inbox.deny, "denied")}
            >
              Deny all {calls.length}
            </Button>
          </span>
        )}
      </header>
      {calls.map((approval) => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          approve={(options) => alone(approval.id, inbox.approve(approval.id, options))}
          deny={(options) => alone(approval.id, inbox.deny(approval.id, options))}
        />
      ))}
    </section>
  );
}

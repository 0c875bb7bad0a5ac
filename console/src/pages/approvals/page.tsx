import { type UseApprovals, useApprovals } from "@steersman/react";
import { Check, CircleCheckBig, X } from "lucide-react";
import { Link } from "wouter";
import { useShortcuts } from "../../app/shortcuts";
import { ApprovalCard } from "../../parts/approvals/approval-card";
import { Button, Card, Empty, ErrorNote, Page, Skeleton } from "../../ui";
import css from "./page.module.css";

/** Everything that waits for the viewer's decision, whoever's run it is. */
export default function ApprovalsPage() {
  const inbox = useApprovals();
  const { approvals, isLoading, error } = inbox;
  useShortcuts("Approvals", [
    { keys: "j", label: "Next call", run: () => move(1) },
    { keys: "k", label: "Previous call", run: () => move(-1) },
    // The card itself listens; it stands here to be found.
    { keys: "Mod+Enter", label: "Approve the call that has the focus", run: () => {} },
  ]);
  const title = approvals.length > 0 ? `Approvals (${approvals.length})` : "Approvals";
  const runIds = [...new Set(approvals.map(({ runId }) => runId))];
  return (
    <Page
      title={title}
      heading="Approvals"
      description="Calls that agents make only once you have agreed."
    >
      {error && (
        <ErrorNote title="That did not work" problem={error} onDismiss={inbox.clearError} />
      )}
      {isLoading && approvals.length === 0 && <Skeleton />}
      {!isLoading && approvals.length === 0 && (
        <Card>
          <Empty icon={<CircleCheckBig />} title="Nothing waits for you">
            When an agent wants to do something that needs a person's consent, it appears here, and
            at the run itself.
          </Empty>
        </Card>
      )}
      {runIds.map((runId) => (
        <OfRun key={runId} inbox={inbox} runId={runId} />
      ))}
    </Page>
  );
}

/** What one run waits for. */
function OfRun({ inbox, runId }: { inbox: UseApprovals; runId: string }) {
  const calls = inbox.approvals.filter((call) => call.runId === runId);
  const all = (decide: (id: string) => Promise<unknown>) =>
    void Promise.all(calls.map(({ id }) => decide(id)));
  return (
    <section className={css.run} aria-label={`Run ${runId}`}>
      <header className={css.head}>
        <Link href={`/runs/${runId}`}>A run of {calls[0]?.agent}</Link>
        {calls.length > 1 && (
          <span className={css.all}>
            <Button small icon={<Check />} onClick={() => all((id) => inbox.approve(id))}>
              Approve all {calls.length}
            </Button>
            <Button small icon={<X />} onClick={() => all((id) => inbox.deny(id))}>
              Deny all {calls.length}
            </Button>
          </span>
        )}
      </header>
      {calls.map((approval) => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          approve={(options) => inbox.approve(approval.id, options)}
          deny={(options) => inbox.deny(approval.id, options)}
        />
      ))}
    </section>
  );
}

/** Takes the focus to the card before or behind the one that has it. */
function move(by: number): void {
  const cards = [...document.querySelectorAll<HTMLElement>("[data-approval]")];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  cards[Math.min(cards.length - 1, Math.max(0, at + by))]?.focus();
}

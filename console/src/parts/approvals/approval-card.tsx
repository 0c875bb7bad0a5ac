import type { Approval, Failure } from "@steersman/react";
import { Check, Pencil, ShieldQuestion, X } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { Link } from "wouter";
import { announce, Button, ErrorNote, TextArea } from "../../ui";
import { JsonArea, parsed } from "../json/json-area";
import { label } from "../words/label";
import css from "./approval-card.module.css";
import { Arguments } from "./arguments";

type Outcome = Promise<{ error: Failure | null }>;

interface ApprovalCardProps {
  approval: Approval;
  approve: (options: { input?: unknown }) => Outcome;
  deny: (options: { reason?: string }) => Outcome;
  /** Shows which run asks, with a way there. */
  linked?: boolean;
}

type Mode = "asked" | "editing" | "denying";

/** A call that waits for a person: what would happen, and the three answers to it. */
export function ApprovalCard({ approval, approve, deny, linked = false }: ApprovalCardProps) {
  const [mode, setMode] = useState<Mode>("asked");
  const [edited, setEdited] = useState(() => JSON.stringify(approval.input, null, 2));
  const [reason, setReason] = useState("");
  const [failure, setFailure] = useState<Failure | null>(null);
  const name = label(approval.name);
  const input = mode === "editing" ? parsed(edited) : null;

  const decide = async (outcome: Outcome, said: string) => {
    setFailure(null);
    const { error } = await outcome;
    setFailure(error);
    if (error === null) announce(`${name}: ${said}`);
  };
  const yes = () => {
    if (approval.deciding !== null || (input !== null && "error" in input)) return;
    void decide(approve(input ? { input: input.value } : {}), "approved");
  };
  const no = () => {
    const given = reason.trim();
    void decide(deny(given ? { reason: given } : {}), "denied");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      if (mode === "denying") no();
      else yes();
    } else if (event.key === "Escape" && mode !== "asked") {
      event.stopPropagation();
      setMode("asked");
    }
  };

  return (
    <section
      className={css.card}
      aria-label={`${approval.agent} wants to: ${name}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is reached as a whole, to be approved by keys
      tabIndex={0}
      data-approval={approval.id}
      onKeyDown={onKeyDown}
    >
      <header className={css.head}>
        <ShieldQuestion aria-hidden="true" className={css.icon} />
        <div className={css.asks}>
          <p className={css.title}>{name}</p>
          <p className={css.who}>
            {linked ? (
              <Link href={`/runs/${approval.runId}`}>{approval.agent}</Link>
            ) : (
              approval.agent
            )}{" "}
            asks {approval.approvers === "owner" ? "you" : `for the role ${approval.approvers}`}
            {approval.expiresAt && `, until ${new Date(approval.expiresAt).toLocaleString("en")}`}
          </p>
        </div>
      </header>
      {mode === "editing" ? (
        <JsonArea label="Arguments" value={edited} onChange={setEdited} />
      ) : (
        <Arguments input={approval.input} />
      )}
      {mode === "denying" && (
        <TextArea
          label="Why not (the agent reads it)"
          rows={2}
          maxLength={1000}
          autoFocus
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      )}
      {failure && (
        <ErrorNote
          title="The decision was not taken"
          problem={failure}
          onDismiss={() => setFailure(null)}
        />
      )}
      <footer className={css.actions}>
        {mode === "denying" ? (
          <>
            <Button look="danger" busy={approval.deciding === "DENY"} icon={<X />} onClick={no}>
              Deny
            </Button>
            <Button onClick={() => setMode("asked")}>Back</Button>
          </>
        ) : (
          <>
            <Button
              look="primary"
              icon={<Check />}
              busy={approval.deciding === "APPROVE"}
              reason={input !== null && "error" in input ? input.error : undefined}
              onClick={yes}
            >
              {mode === "editing" ? "Approve as edited" : "Approve"}
            </Button>
            {mode === "asked" ? (
              <Button icon={<Pencil />} onClick={() => setMode("editing")}>
                Edit
              </Button>
            ) : (
              <Button onClick={() => setMode("asked")}>Leave as it was</Button>
            )}
            <Button icon={<X />} onClick={() => setMode("denying")}>
              Deny…
            </Button>
          </>
        )}
      </footer>
    </section>
  );
}

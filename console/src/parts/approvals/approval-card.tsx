import type { Approval, Failure } from "@steersman/react";
import { Check, Pencil, ShieldQuestion, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { announce, Button, ErrorNote, TextArea } from "../../ui";
import { label } from "../words/label";
import css from "./approval-card.module.css";
import { Arguments } from "./arguments";
import { EditArguments, useEditing } from "./edit-arguments";

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
export function ApprovalCard(props: ApprovalCardProps) {
  const { approval, approve, deny, linked = false } = props;
  const [mode, setMode] = useState<Mode>("asked");
  const editing = useEditing(approval.input, approval.inputSchema);
  const [reason, setReason] = useState("");
  const [failure, setFailure] = useState<Failure | null>(null);
  const name = label(approval.name);
  const fault = mode === "editing" && "error" in editing.checked ? editing.checked.error : null;
  const card = useFocusIn(mode);

  const decide = async (outcome: Outcome, said: string) => {
    setFailure(null);
    const { error } = await outcome;
    setFailure(error);
    if (error === null) announce(`${name}: ${said}`);
  };
  const yes = () => {
    if (approval.deciding !== null || fault !== null) return;
    const { checked } = editing;
    const changed = mode === "editing" && "value" in checked;
    void decide(approve(changed ? { input: checked.value } : {}), "approved");
  };
  const no = () => {
    if (approval.deciding !== null) return;
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
      ref={card}
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
        <EditArguments editing={editing} />
      ) : (
        <Arguments input={approval.input} />
      )}
      {mode === "denying" && (
        <TextArea
          label="Why not (the agent reads it)"
          rows={2}
          maxLength={1000}
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
              reason={fault ?? undefined}
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

/** Keeps the focus in the card as it changes: what is to be written first has it, else the card. */
function useFocusIn(mode: Mode) {
  const card = useRef<HTMLElement>(null);
  const before = useRef(mode);
  useEffect(() => {
    if (before.current === mode) return;
    before.current = mode;
    const field = card.current?.querySelector<HTMLElement>("textarea, input, select");
    (mode === "asked" ? card.current : field)?.focus();
  }, [mode]);
  return card;
}

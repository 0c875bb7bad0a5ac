import { CircleAlert, Info, TriangleAlert, X } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./button";
import { CopyButton } from "./copy";
import { cx } from "./cx";
import { nextStep } from "./next-step";
import css from "./note.module.css";

interface NoteProps {
  tone?: "info" | "warning" | "error";
  title?: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
  onDismiss?: (() => void) | undefined;
}

const ICONS = { info: Info, warning: TriangleAlert, error: CircleAlert };

/** Something that a person must know, in its place on the page; it stays until it is dismissed or no longer true. */
export function Note({ tone = "info", title, children, actions, onDismiss }: NoteProps) {
  const Icon = ICONS[tone];
  return (
    <div className={cx(css.note, css[tone])} role={tone === "error" ? "alert" : "note"}>
      <Icon aria-hidden="true" className={css.icon} />
      <div className={css.said}>
        {title && <p className={css.title}>{title}</p>}
        {children}
        {actions && <div className={css.actions}>{actions}</div>}
      </div>
      {onDismiss && (
        <Button look="quiet" small icon={<X />} aria-label="Dismiss" onClick={onDismiss} />
      )}
    </div>
  );
}

/** What went wrong: `code` is one of the API's error codes, or NETWORK where no answer came. */
export interface Problem {
  code: string;
  message: string;
}

/** An error where it happened: in words, with what to do next, and its text to copy. */
export function ErrorNote(props: {
  problem: Problem;
  /** What was tried, such as "The run could not be stopped". */
  title?: string;
  actions?: ReactNode;
  onDismiss?: (() => void) | undefined;
}) {
  const { problem, title, actions, onDismiss } = props;
  const next = nextStep(problem.code);
  return (
    <Note
      tone="error"
      title={title ?? problem.message}
      onDismiss={onDismiss}
      actions={
        <>
          {actions}
          <CopyButton text={`${problem.code}: ${problem.message}`} label="Copy error" named />
        </>
      }
    >
      {title && <p>{problem.message}</p>}
      {next && <p className={css.next}>{next}</p>}
      <p className={css.code}>{problem.code}</p>
    </Note>
  );
}

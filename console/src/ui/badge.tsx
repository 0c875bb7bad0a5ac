import type { ReactNode } from "react";
import css from "./badge.module.css";
import { cx } from "./cx";

export type Tone = "neutral" | "blue" | "amber" | "green" | "red" | "violet" | "accent";

/** A word on a coloured ground; the word says it all, the colour only helps. */
export function Badge(props: { tone?: Tone; dot?: boolean; pulse?: boolean; children: ReactNode }) {
  const { tone = "neutral", dot, pulse, children } = props;
  return (
    <span className={cx(css.badge, css[tone])}>
      {dot && <span className={cx(css.dot, pulse && css.pulse)} aria-hidden="true" />}
      {children}
    </span>
  );
}

const STATUS: Record<string, [tone: Tone, word: string]> = {
  idle: ["neutral", "Idle"],
  queued: ["violet", "Queued"],
  running: ["blue", "Running"],
  waiting: ["amber", "Waiting"],
  cancelling: ["amber", "Stopping"],
  completed: ["green", "Completed"],
  failed: ["red", "Failed"],
  cancelled: ["neutral", "Stopped"],
};

/** What people call a run's status, as the API or the hooks name it. */
export function statusWord(status: string): string {
  return STATUS[status.toLowerCase()]?.[1] ?? status;
}

/** A run's status, as the API (RUNNING) or the hooks (running) name it. */
export function StatusBadge({ status }: { status: string }) {
  const [tone, word] = STATUS[status.toLowerCase()] ?? ["neutral" as const, status];
  const moves = ["running", "cancelling"].includes(status.toLowerCase());
  return (
    <Badge tone={tone} dot pulse={moves}>
      {word}
    </Badge>
  );
}

import type { QueuedInput, UseRun } from "@steersman/react";
import { RotateCcw, Undo2 } from "lucide-react";
import { announce, Badge, Button } from "../../ui";
import css from "./queue.module.css";

const WORDS: Record<QueuedInput["state"], string> = {
  sending: "Sending",
  queued: "Queued",
  applied: "Being read",
  failed: "Not sent",
};

/** What was said and is not in the transcript yet, in order; what the agent has not read can be taken back. */
export function Queue({ run }: { run: UseRun }) {
  if (run.queue.length === 0) return null;
  return (
    <ol className={css.queue} aria-label="Queued messages">
      {run.queue.map((input) => (
        <li key={input.key} className={css.input}>
          <Badge tone={input.state === "failed" ? "red" : "violet"}>
            {input.mode === "INTERRUPT" && input.state === "queued"
              ? "Interrupting"
              : WORDS[input.state]}
          </Badge>
          <span className={css.text}>{input.text}</span>
          {input.error && <span className={css.error}>{input.error.message}</span>}
          {input.state === "failed" && (
            <Button small icon={<RotateCcw />} onClick={() => void run.resend(input.key)}>
              Send again
            </Button>
          )}
          {(input.state === "queued" || input.state === "failed") && (
            <Button small look="quiet" icon={<Undo2 />} onClick={() => void takeBack(run, input)}>
              Withdraw
            </Button>
          )}
        </li>
      ))}
    </ol>
  );
}

async function takeBack(run: UseRun, input: QueuedInput): Promise<void> {
  const { withdrawn, error } = await run.withdraw(input.key);
  if (error === null)
    announce(withdrawn ? "Withdrawn" : "Too late: the agent has read it, or is about to");
}

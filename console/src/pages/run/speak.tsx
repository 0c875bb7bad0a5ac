import type { UseRun } from "@steersman/react";
import type { RefObject } from "react";
import { Composer, type Said } from "../../parts/composer/composer";
import { Kbd } from "../../ui";
import { Queue } from "./queue";
import css from "./speak.module.css";

/** What is queued, and where one says the next thing. */
export function Speak({
  run,
  field,
}: {
  run: UseRun;
  field: RefObject<HTMLTextAreaElement | null>;
}) {
  // What can't be sent stays in the queue, with a way to send it again.
  const say = (mode: "QUEUE" | "INTERRUPT") => (said: Said) => {
    const { text, attachments } = said;
    void run.steer(text, { mode, ...(attachments.length > 0 && { attachments }) });
    return undefined;
  };
  return (
    <div className={css.speak}>
      <Queue run={run} />
      <Composer
        label={`Message to ${run.agent}`}
        placeholder={
          run.isActive ? "Steer it: say what it should know or do" : "Say the next thing"
        }
        draft={`run:${run.runId}`}
        onSend={say("QUEUE")}
        onInterrupt={run.isActive ? say("INTERRUPT") : undefined}
        sendLabel={run.isActive ? "Queue" : "Send"}
        hint={
          run.isActive ? (
            <span className={css.keys}>
              <Kbd keys="Enter" /> queues, <Kbd keys="Mod" /> <Kbd keys="Shift" />{" "}
              <Kbd keys="Enter" /> interrupts
            </span>
          ) : null
        }
        field={field}
        autoFocus={matchMedia("(min-width: 48rem)").matches}
      />
    </div>
  );
}

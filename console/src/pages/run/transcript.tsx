import type { UseRun } from "@steersman/react";
import { ArrowDown } from "lucide-react";
import { useMemo } from "react";
import { Button, Empty } from "../../ui";
import { useSticking } from "../../ui/use-sticking";
import { Attention } from "./attention";
import { MessageRow } from "./message-row";
import { PartialAnswerRow } from "./partial-answer";
import { Standing } from "./standing";
import css from "./transcript.module.css";

/** What was said and done in a run, and what is going on in it. It follows the end while the reader is there. */
export function Transcript(props: {
  run: UseRun;
  /** Whether it is the viewer's, who alone decides, forks and goes on with it. */
  isOwn: boolean;
  onFork: (seq: number) => void;
}) {
  const { run, isOwn, onFork } = props;
  const { scroller, content, isAtEnd, missed, toEnd } = useSticking(run.messages.length);
  const calls = useMemo(
    () => new Map(run.toolCalls.map((call) => [call.id, call])),
    [run.toolCalls],
  );
  const subruns = useMemo(
    () => new Map(run.subruns.map((subrun) => [subrun.runId, subrun])),
    [run.subruns],
  );
  return (
    <div className={css.window}>
      <section
        ref={scroller}
        className={css.scroller}
        aria-label="Transcript"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
        tabIndex={0}
      >
        <div ref={content} className={css.content}>
          {run.messages.length === 0 && run.partial === null && run.queue.length === 0 && (
            <Empty title="Nothing was said yet">Write below what the agent is to do.</Empty>
          )}
          {run.messages.map((message) => (
            <MessageRow
              key={message.id}
              message={message}
              calls={message.blocks.flatMap((block) =>
                block.__typename === "ToolUseBlock" ? [calls.get(block.toolCallId) ?? null] : [],
              )}
              subruns={subruns}
              onFork={isOwn ? onFork : null}
            />
          ))}
          {run.partial && <PartialAnswerRow partial={run.partial} />}
          {isOwn && <Attention run={run} />}
          <Standing run={run} isOwn={isOwn} />
        </div>
      </section>
      {!isAtEnd && (
        <div className={css.down}>
          <Button small icon={<ArrowDown />} onClick={toEnd}>
            {missed > 0 ? `${missed} new` : "To the newest"}
          </Button>
        </div>
      )}
    </div>
  );
}

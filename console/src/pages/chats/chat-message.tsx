import type { ChatMessage } from "@steersman/react";
import { Square } from "lucide-react";
import { memo } from "react";
import { Link } from "wouter";
import { AgentPicture } from "../../parts/agent-choice/agent-picture";
import { Reasoning } from "../../parts/reasoning/reasoning";
import { useViewer } from "../../session/viewer";
import { Ago, Badge, Button, cx, fullTime } from "../../ui";
import { MarkdownText } from "../../ui/markdown";
import css from "./chat-message.module.css";
import { parts } from "./mentions";

interface ChatMessageRowProps {
  message: ChatMessage;
  /** Whether the one before is by the same sender and just before, so that who it is need not be said again. */
  follows: boolean;
  onStop: (runId?: string) => unknown;
}

/** What somebody said, or an agent is writing. */
export const ChatMessageRow = memo(function ChatMessageRow(props: ChatMessageRowProps) {
  const { message, follows, onStop } = props;
  const viewer = useViewer();
  const { senderAgent, senderUserId, status, text, reasoning, runId, createdAt } = message;
  const name = senderAgent?.name ?? senderUserId ?? "An agent that was removed";
  const isAgent = senderUserId === null;
  const streams = status === "STREAMING";
  return (
    <article
      className={cx(css.message, follows && css.follows)}
      aria-label={`${name}, ${fullTime(createdAt)}`}
      aria-busy={streams || undefined}
    >
      {!follows && <AgentPicture name={name} picture={senderAgent?.picture ?? null} />}
      <div className={css.said}>
        {!follows && (
          <header className={css.head}>
            <strong>{senderUserId === viewer.id ? "You" : name}</strong>
            {isAgent && <Badge tone="accent">Agent</Badge>}
            <span className={css.when}>
              <Ago time={createdAt} />
            </span>
          </header>
        )}
        {reasoning && <Reasoning text={reasoning} streams={streams && !text} />}
        {isAgent ? <MarkdownText text={text} streams={streams} /> : <Plain text={text} />}
        {(streams || status !== "DONE" || runId !== null) && isAgent && (
          <footer className={css.foot}>
            {streams && (
              <Badge tone="blue" dot pulse>
                Writing
              </Badge>
            )}
            {status === "FAILED" && <Badge tone="red">Failed</Badge>}
            {status === "CANCELLED" && <Badge>Stopped</Badge>}
            {runId && <Link href={`/runs/${runId}`}>Its run</Link>}
            {streams && runId && (
              <Button
                small
                look="quiet"
                icon={<Square />}
                aria-label={`Stop ${name}`}
                onClick={() => onStop(runId)}
              >
                Stop
              </Button>
            )}
          </footer>
        )}
      </div>
    </article>
  );
});

function Plain({ text }: { text: string }) {
  return (
    <p className={css.plain}>
      {parts(text).map(({ text: part, handle, at }) =>
        handle === null ? (
          part
        ) : (
          <span key={at} className={css.mention}>
            {part}
          </span>
        ),
      )}
    </p>
  );
}

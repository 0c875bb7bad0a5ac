import { type UseChat, useChat } from "@steersman/react";
import { ArrowDown, RotateCcw, Square, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { announce, Badge, Button, Empty, ErrorNote } from "../../ui";
import { useSticking } from "../../ui/use-sticking";
import { ChatMessageRow } from "./chat-message";
import type { ChatRow } from "./names";
import { Say } from "./say";
import css from "./thread-view.module.css";

// Agents in a row say one thing; others, or a pause, begin a new one.
const TOGETHER_MS = 5 * 60_000;

/** A thread: what was said, what agents are writing, and where one says more. */
export function ThreadView({ threadId, chat }: { threadId: string; chat: ChatRow }) {
  const thread = useChat({ threadId });
  const { scroller, content, isAtEnd, missed, toEnd } = useSticking(thread.messages.length);
  useAnnounced(thread);
  return (
    <div className={css.thread}>
      <div className={css.window}>
        <section
          ref={scroller}
          className={css.scroller}
          aria-label="Messages"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
          tabIndex={0}
        >
          <div ref={content} className={css.content}>
            {thread.messages.length === 0 && thread.outgoing.length === 0 && (
              <Empty title="Nothing was said yet">
                Everybody in the chat reads what is said here, and its agents answer.
              </Empty>
            )}
            {thread.messages.map((message, index) => (
              <ChatMessageRow
                key={message.id}
                message={message}
                follows={follows(thread.messages[index - 1], message)}
                onStop={thread.stop}
              />
            ))}
            {thread.outgoing.map((outgoing) => (
              <Outgoing key={outgoing.key} thread={thread} outgoing={outgoing} />
            ))}
            {thread.error && (
              <ErrorNote
                title="That did not work"
                problem={thread.error}
                onDismiss={thread.clearError}
              />
            )}
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
      <div className={css.say}>
        {thread.isActive && <StopAll thread={thread} />}
        <Say chat={chat} threadId={threadId} onSend={(text) => void thread.send(text)} />
      </div>
    </div>
  );
}

type Message = UseChat["messages"][number];

function follows(before: Message | undefined, message: Message): boolean {
  if (before === undefined) return false;
  const same =
    before.senderUserId === message.senderUserId &&
    before.senderAgent?.id === message.senderAgent?.id;
  return same && Date.parse(message.createdAt) - Date.parse(before.createdAt) < TOGETHER_MS;
}

/** Says when an answer is whole, once; not what stands there already. */
function useAnnounced(thread: UseChat): void {
  const writing = useRef(new Set<string>());
  useEffect(() => {
    for (const { id, status, senderAgent } of thread.messages) {
      if (status === "STREAMING") writing.current.add(id);
      else if (writing.current.delete(id))
        announce(
          `${senderAgent?.name ?? "The agent"} has ${status === "DONE" ? "answered" : "stopped"}`,
        );
    }
  }, [thread.messages]);
}

function StopAll({ thread }: { thread: UseChat }) {
  const [stopping, setStopping] = useState(false);
  const stop = async () => {
    setStopping(true);
    const { error } = await thread.stop();
    if (error) setStopping(false);
  };
  return (
    <div>
      <Button small look="danger" icon={<Square />} busy={stopping} onClick={() => void stop()}>
        {stopping ? "Stopping…" : "Stop"}
      </Button>
    </div>
  );
}

function Outgoing(props: { thread: UseChat; outgoing: UseChat["outgoing"][number] }) {
  const { thread, outgoing } = props;
  const { key, text, state, error } = outgoing;
  return (
    <div className={css.outgoing}>
      <p className={css.text}>{text}</p>
      <Badge tone={state === "failed" ? "red" : "violet"}>
        {state === "failed" ? "Not sent" : "Sending"}
      </Badge>
      {error && <span className={css.error}>{error.message}</span>}
      {state === "failed" && (
        <>
          <Button small icon={<RotateCcw />} onClick={() => void thread.resend(key)}>
            Send again
          </Button>
          <Button small look="quiet" icon={<Trash2 />} onClick={() => thread.discard(key)}>
            Discard
          </Button>
        </>
      )}
    </div>
  );
}

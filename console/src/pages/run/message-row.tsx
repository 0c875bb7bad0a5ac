import type { Message, RunToolCall, Subrun } from "@steersman/react";
import { Copy, Ellipsis, GitFork, Link2 } from "lucide-react";
import { memo } from "react";
import { OwnDocument, OwnImage } from "../../parts/files/own-file";
import { Reasoning } from "../../parts/reasoning/reasoning";
import { announce, cx, fullTime, IconButton, Json, Menu } from "../../ui";
import { MarkdownText } from "../../ui/markdown";
import { CallCard } from "./call-card";
import css from "./message-row.module.css";

interface MessageRowProps {
  message: Message;
  /** The calls that it asks for, in its order; null for one that is not known yet. */
  calls: Array<RunToolCall | null>;
  subruns: Map<string, Subrun>;
  /** null where it can't be forked. */
  onFork: ((seq: number) => void) | null;
}

/** A stored message. It is drawn again only when one of its own calls has changed. */
export const MessageRow = memo(function MessageRow(props: MessageRowProps) {
  const { message, calls, subruns, onFork } = props;
  const isUser = message.role === "USER";
  const said = message.blocks.filter(({ __typename }) => __typename !== "ToolResultBlock");
  if (said.length === 0) return null; // what tools gave is shown with their calls
  return (
    <article
      id={`m${message.seq}`}
      tabIndex={-1}
      className={cx(css.row, isUser ? css.user : css.agent)}
      aria-label={`${isUser ? "You" : "Agent"}, ${fullTime(message.createdAt)}`}
    >
      <div className={css.said}>
        {said.map((block, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks of a stored message never change
          <Block key={index} block={block} calls={calls} subruns={subruns} isUser={isUser} />
        ))}
      </div>
      <div className={css.menu}>
        <MessageMenu message={message} onFork={onFork} />
      </div>
    </article>
  );
}, isSame);

function isSame(before: MessageRowProps, after: MessageRowProps): boolean {
  return (
    before.message === after.message &&
    before.onFork === after.onFork &&
    before.calls.length === after.calls.length &&
    before.calls.every((call, index) => call === after.calls[index]) &&
    (after.calls.length === 0 || before.subruns === after.subruns)
  );
}

type Shown = Message["blocks"][number];

function Block(props: {
  block: Shown;
  calls: Array<RunToolCall | null>;
  subruns: Map<string, Subrun>;
  isUser: boolean;
}) {
  const { block, calls, subruns, isUser } = props;
  switch (block.__typename) {
    case "TextBlock":
      // What a person writes is shown as it was written.
      return isUser ? (
        <p className={css.plain}>{block.text}</p>
      ) : (
        <MarkdownText text={block.text} />
      );
    case "ReasoningBlock":
      return <Reasoning text={block.text} />;
    case "ToolUseBlock": {
      const call = calls.find((each) => each?.id === block.toolCallId) ?? null;
      const subrun = call?.childRunId ? subruns.get(call.childRunId) : undefined;
      return <CallCard name={block.name} input={block.input} call={call} subrun={subrun} />;
    }
    case "ImageBlock":
      return <OwnImage url={block.url} name="Attached image" />;
    case "DocumentBlock":
      return <OwnDocument url={block.url} name={block.title ?? "Attached document"} />;
    case "OtherBlock":
      return <Json value={block.data} label={block.type} />;
    case "ToolResultBlock":
      return null;
  }
}

function MessageMenu({ message, onFork }: Pick<MessageRowProps, "message" | "onFork">) {
  const copy = (text: string, said: string) => {
    void navigator.clipboard.writeText(text).then(() => announce(said));
  };
  return (
    <Menu
      trigger={
        <IconButton small label={`What to do with message ${message.seq}`} icon={<Ellipsis />} />
      }
      items={[
        {
          label: "Fork from here",
          icon: <GitFork />,
          reason: onFork ? undefined : "Its owner alone forks it",
          onSelect: () => onFork?.(message.seq),
        },
        {
          label: "Copy text",
          icon: <Copy />,
          onSelect: () => copy(message.text, "Text copied"),
        },
        {
          label: "Copy link",
          icon: <Link2 />,
          onSelect: () => copy(`${location.href.split("#")[0]}#m${message.seq}`, "Link copied"),
        },
      ]}
    />
  );
}

import { ArrowUp } from "lucide-react";
import { type KeyboardEvent, useId, useRef, useState } from "react";
import composer from "../../parts/composer/composer.module.css";
import { useDraft } from "../../parts/composer/draft";
import { Button, cx } from "../../ui";
import { type Mentionable, matching, mentionAt } from "./mentions";
import type { ChatRow } from "./names";
import css from "./say.module.css";

interface SayProps {
  chat: ChatRow;
  threadId: string;
  onSend: (text: string) => void;
}

/** Where one speaks in a thread; `@` offers the agents that are there. */
export function Say({ chat, threadId, onSend }: SayProps) {
  const [text, write] = useDraft(`thread:${threadId}`, "");
  const [caret, setCaret] = useState(0);
  const [at, setAt] = useState(0);
  const [closed, setClosed] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const listId = useId();
  const agents = chat.members.flatMap(({ agent }): Mentionable[] =>
    agent?.handle ? [{ name: agent.name, handle: agent.handle }] : [],
  );
  const mention = closed ? null : mentionAt(text, caret);
  const found = mention ? matching(agents, mention.typed) : [];
  const open = found.length > 0;

  const send = () => {
    if (!text.trim()) return;
    onSend(text);
    write("");
  };
  const choose = (agent: Mentionable) => {
    if (mention === null) return;
    const before = `${text.slice(0, mention.from)}@${agent.handle} `;
    write(before + text.slice(caret));
    setAt(0);
    // Where the caret goes on, once the new text is there.
    requestAnimationFrame(() => {
      field.current?.setSelectionRange(before.length, before.length);
      setCaret(before.length);
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const chosen = found[at] ?? found[0];
    if (open && chosen && ["Enter", "Tab"].includes(event.key) && !event.shiftKey) {
      event.preventDefault();
      choose(chosen);
    } else if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const by = event.key === "ArrowDown" ? 1 : -1;
      setAt((at + by + found.length) % found.length);
    } else if (open && event.key === "Escape") {
      event.preventDefault();
      setClosed(true);
    } else if (
      event.key === "Enter" &&
      !event.shiftKey &&
      (event.metaKey || event.ctrlKey || keyboard())
    ) {
      event.preventDefault();
      send();
    }
  };
  const moved = () => setCaret(field.current?.selectionStart ?? 0);

  return (
    <div className={cx(composer.composer, css.say)}>
      {open && (
        <div id={listId} role="listbox" aria-label="Agents to mention" className={css.list}>
          {found.map((agent, index) => (
            <div
              key={agent.handle}
              id={`${listId}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              className={cx(css.option, index === at && css.on)}
              onPointerDown={(event) => {
                event.preventDefault();
                choose(agent);
              }}
            >
              <strong>@{agent.handle}</strong> {agent.name}
            </div>
          ))}
        </div>
      )}
      <textarea
        ref={field}
        className={composer.field}
        rows={1}
        aria-label="Message"
        placeholder={agents.length > 1 ? "Say something; @ asks one agent" : "Say something"}
        role="combobox"
        aria-expanded={open}
        aria-autocomplete="list"
        aria-controls={listId}
        aria-activedescendant={open ? `${listId}-${at}` : undefined}
        maxLength={32_768}
        value={text}
        onChange={(event) => {
          write(event.currentTarget.value);
          setClosed(false);
          setAt(0);
          moved();
        }}
        onKeyDown={onKeyDown}
        onSelect={moved}
      />
      <div className={composer.foot}>
        <span className={composer.hint} />
        <Button
          small
          look="primary"
          icon={<ArrowUp />}
          reason={text.trim() ? undefined : "Write something first"}
          onClick={send}
        >
          Send
        </Button>
      </div>
    </div>
  );
}

function keyboard(): boolean {
  return matchMedia("(hover: hover) and (pointer: fine)").matches;
}

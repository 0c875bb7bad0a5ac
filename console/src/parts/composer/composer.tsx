import type { AttachmentInput } from "@steersman/react";
import { ArrowUp, Paperclip, X, Zap } from "lucide-react";
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  useId,
  useRef,
  useState,
} from "react";
import { Button, cx, IconButton } from "../../ui";
import { type Attached, attach, KINDS } from "../files/attachments";
import css from "./composer.module.css";
import { useDraft } from "./draft";

/** What is sent. */
export interface Said {
  text: string;
  attachments: AttachmentInput[];
}

interface ComposerProps {
  /** What the field is called, such as "Message to researcher". */
  label: string;
  placeholder: string;
  /** Under which the draft is kept over a reload. */
  draft: string;
  /** What stands in it where there is no draft. */
  first?: string | null;
  /** Gets what was written. Where it resolves to false, the text comes back. */
  onSend: (said: Said) => Promise<boolean> | undefined;
  /** Where something is at work: says it at once, and stops the answer under way. */
  onInterrupt?: ((said: Said) => Promise<boolean> | undefined) | undefined;
  /** What Enter does; "Send", or "Queue" where it waits for the agent to come to it. */
  sendLabel?: string;
  /** Below the field, at its left. */
  hint?: ReactNode;
  field?: Ref<HTMLTextAreaElement>;
  autoFocus?: boolean;
}

/** Phones have no Shift+Enter, so there Enter breaks the line and the button sends. */
function hasKeyboard(): boolean {
  return matchMedia("(hover: hover) and (pointer: fine)").matches;
}

/** Where a person speaks to an agent. It is never disabled, and never loses what was written. */
export function Composer(props: ComposerProps) {
  const { label, placeholder, draft, onSend, onInterrupt, sendLabel = "Send", hint } = props;
  const [text, write] = useDraft(draft, props.first ?? "");
  const [files, setFiles] = useState<Attached[]>([]);
  const [refused, setRefused] = useState<string[]>([]);
  const [over, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const about = useId();

  const add = async (chosen: File[]) => {
    if (chosen.length === 0) return;
    const { attached, refused: why } = await attach(files, chosen);
    setFiles(attached);
    setRefused(why);
  };

  const say = async (how: ComposerProps["onSend"]) => {
    if (!text.trim()) return;
    write("");
    setFiles([]);
    setRefused([]);
    const taken = await how({ text, attachments: files.map(({ input }) => input) });
    if (taken === false) {
      write(text);
      setFiles(files);
    }
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    const mod = event.metaKey || event.ctrlKey;
    if (mod && event.shiftKey && onInterrupt) {
      event.preventDefault();
      void say(onInterrupt);
    } else if (mod || (!event.shiftKey && hasKeyboard())) {
      event.preventDefault();
      void say(onSend);
    }
  };

  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...event.clipboardData.files];
    if (pasted.length === 0) return;
    event.preventDefault();
    void add(pasted);
  };

  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void add([...event.dataTransfer.files]);
  };

  const empty = text.trim() ? undefined : "Write something first";
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files are dropped here; the button below takes them too
    <div
      className={cx(css.composer, over && css.over)}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      {files.length > 0 && <Files files={files} onChange={setFiles} />}
      <textarea
        ref={props.field}
        className={css.field}
        aria-label={label}
        aria-describedby={about}
        placeholder={placeholder}
        rows={1}
        value={text}
        // biome-ignore lint/a11y/noAutofocus: a page that one comes to in order to write
        autoFocus={props.autoFocus}
        onChange={(event) => write(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      {refused.length > 0 && (
        <ul className={css.refused} role="alert">
          {refused.map((why) => (
            <li key={why}>{why}</li>
          ))}
        </ul>
      )}
      <div className={css.foot}>
        <IconButton
          small
          label="Attach images or PDFs"
          icon={<Paperclip />}
          onClick={() => picker.current?.click()}
        />
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          accept={KINDS.join(",")}
          aria-label="Files"
          onChange={(event) => {
            void add([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
        <span id={about} className={css.hint}>
          {hint}
        </span>
        {onInterrupt && (
          <Button
            small
            icon={<Zap />}
            reason={empty}
            title="Stops the answer under way and says this at once"
            onClick={() => void say(onInterrupt)}
          >
            Interrupt
          </Button>
        )}
        <Button
          small
          look="primary"
          icon={<ArrowUp />}
          reason={empty}
          onClick={() => void say(onSend)}
        >
          {sendLabel}
        </Button>
      </div>
    </div>
  );
}

function Files(props: { files: Attached[]; onChange: (files: Attached[]) => void }) {
  const { files, onChange } = props;
  return (
    <ul className={css.files} aria-label="Attached files">
      {files.map((file) => (
        <li key={file.key} className={css.file}>
          {file.preview && <img src={file.preview} alt="" className={css.preview} />}
          <span className={css.name}>{file.name}</span>
          <Button
            look="quiet"
            small
            icon={<X />}
            aria-label={`Remove ${file.name}`}
            onClick={() => onChange(files.filter(({ key }) => key !== file.key))}
          />
        </li>
      ))}
    </ul>
  );
}

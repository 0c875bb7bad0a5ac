import { Brain } from "lucide-react";
import { MarkdownText } from "../../ui/markdown";
import css from "./reasoning.module.css";

/** What the model thought, folded; `streams` while it thinks. */
export function Reasoning({ text, streams = false }: { text: string; streams?: boolean }) {
  if (!text) return null;
  return (
    <details className={css.fold}>
      <summary className={css.head}>
        <Brain size={14} aria-hidden="true" />
        {streams ? "Thinking…" : "Thoughts"}
      </summary>
      <div className={css.text}>
        <MarkdownText text={text} streams={streams} />
      </div>
    </details>
  );
}

import type { PartialAnswer } from "@steersman/react";
import { Reasoning } from "../../parts/reasoning/reasoning";
import { MarkdownText } from "../../ui/markdown";
import css from "./message-row.module.css";

/** The answer that is being written. Those who hear the page hear it when it is whole. */
export function PartialAnswerRow({ partial }: { partial: PartialAnswer }) {
  return (
    <article className={css.agent} aria-label="The answer that is being written" aria-busy="true">
      <div className={css.said} data-partial>
        {partial.blocks.map(({ index, kind, text }) =>
          kind === "reasoning" ? (
            <Reasoning key={index} text={text} streams />
          ) : (
            <MarkdownText key={index} text={text} streams />
          ),
        )}
      </div>
    </article>
  );
}

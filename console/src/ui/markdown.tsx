import Markdown from "markdown-to-jsx/react";
import { memo } from "react";
import { CopyButton } from "./copy";
import css from "./markdown.module.css";
import { Scrolling } from "./scrolling";

const OPTIONS = {
  // What a model writes is never taken for HTML.
  disableParsingRawHTML: true,
  wrapper: "div",
  forceBlock: true,
  overrides: {
    a: { component: SafeLink },
    pre: { component: CodeBlock },
    table: { component: WideTable },
    img: { component: NoImage },
  },
} as const;

/** Markdown as a model writes it. While it `streams`, what is not closed yet is held back rather than shown raw. */
export const MarkdownText = memo(function MarkdownText(props: { text: string; streams?: boolean }) {
  const { text, streams = false } = props;
  return (
    <div className={css.markdown}>
      <Markdown options={{ ...OPTIONS, optimizeForStreaming: streams }}>{text}</Markdown>
    </div>
  );
});

function SafeLink({ href, children }: { href?: string; children?: React.ReactNode }) {
  const safe = href !== undefined && /^(https?:|mailto:)/i.test(href);
  if (!safe) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

// An image that a model names would tell its host who reads what: shown as a link instead.
function NoImage({ src, alt }: { src?: string; alt?: string }) {
  return <SafeLink {...(src !== undefined && { href: src })}>{alt || src || "image"}</SafeLink>;
}

function textOf(node: React.ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(textOf).join("");
  if (typeof node === "object" && node !== null && "props" in node)
    return textOf((node.props as { children?: React.ReactNode }).children);
  return "";
}

function CodeBlock({ children }: { children?: React.ReactNode }) {
  return (
    <div className={css.code}>
      <Scrolling label="Code">
        <pre>{children}</pre>
      </Scrolling>
      <div className={css.tools}>
        <CopyButton text={textOf(children)} label="Copy code" />
      </div>
    </div>
  );
}

function WideTable({ children }: { children?: React.ReactNode }) {
  return (
    <Scrolling label="Table">
      <table>{children}</table>
    </Scrolling>
  );
}

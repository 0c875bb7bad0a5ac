import type { ModelCall, RunToolCall } from "@steersman/react";
import { ZoomIn, ZoomOut } from "lucide-react";
import { useState } from "react";
import { label } from "../../parts/words/label";
import { cx, duration, IconButton, money, Scrolling, useNow } from "../../ui";
import css from "./timeline.module.css";
import { laidOut, type Placed, type Span, spansOf } from "./timeline-layout";

type Show = "all" | "failed" | "open";

const SHOWN: Record<Show, (span: Span) => boolean> = {
  all: () => true,
  failed: ({ failed }) => failed,
  open: ({ isOpen }) => isOpen,
};

/** What took the time of a run: the calls of the model and of tools on one line, with their cost, idle time folded. */
export function Timeline({ calls, tools }: { calls: ModelCall[]; tools: RunToolCall[] }) {
  const [zoom, setZoom] = useState(1);
  const [show, setShow] = useState<Show>("all");
  const goesOn =
    calls.some(({ finishedAt }) => finishedAt === null) ||
    tools.some(({ startedAt, finishedAt }) => startedAt !== null && finishedAt === null);
  const now = useNow();
  const all = spansOf(calls, tools, goesOn ? Math.max(now, Date.now()) : now);
  if (all.length === 0) return null;
  const line = laidOut(all);
  const spans = line.spans.filter(SHOWN[show]);
  const dearest = Math.max(...all.map(({ cost }) => cost ?? 0));
  return (
    <section className={css.part} aria-label="Timeline">
      <header className={css.head}>
        <h2 className={css.title}>Timeline</h2>
        <span className={css.tools}>
          <select
            aria-label="Which calls"
            className={css.show}
            value={show}
            onChange={(event) => setShow(event.currentTarget.value as Show)}
          >
            <option value="all">All</option>
            <option value="failed">Failed</option>
            <option value="open">Pending</option>
          </select>
          <IconButton
            small
            label="Zoom out"
            icon={<ZoomOut />}
            onClick={() => setZoom(Math.max(1, zoom / 2))}
          />
          <IconButton
            small
            label="Zoom in"
            icon={<ZoomIn />}
            onClick={() => setZoom(Math.min(16, zoom * 2))}
          />
        </span>
      </header>
      <p className={css.sum}>
        {duration(line.busyMs)} at work{line.idleMs > 0 && `, ${duration(line.idleMs)} idle folded`}
      </p>
      <Scrolling label="Timeline" className={css.scroll}>
        <ol className={css.spans} style={{ width: `${zoom * 100}%` }}>
          {spans.map((span) => (
            <Row key={span.key} span={span} heaviest={dearest > 0 && span.cost === dearest} />
          ))}
        </ol>
      </Scrolling>
      {spans.length === 0 && <p className={css.sum}>None of them.</p>}
    </section>
  );
}

function Row({ span, heaviest }: { span: Placed; heaviest: boolean }) {
  const { kind, name, step, start, width, isOpen, failed, cost } = span;
  const took = duration(span.to - span.from);
  return (
    <li className={css.row}>
      <span className={css.name}>
        <span className={css.step}>{step}</span>
        {kind === "tool" ? label(name) : name}
        <span className={css.figures}>
          {cost !== null && cost > 0 && (
            <span className={cx(heaviest && css.heaviest)}>{money(cost)} </span>
          )}
          {took}
          {heaviest && <span className="sr-only">, the dearest</span>}
          {failed && <span className={css.failed}> failed</span>}
          {isOpen && " so far"}
        </span>
      </span>
      <span className={css.track} aria-hidden="true">
        <span
          className={cx(css.bar, css[kind], failed && css.bad, isOpen && css.open)}
          style={{ left: `${start * 100}%`, width: `${width * 100}%` }}
        />
      </span>
    </li>
  );
}

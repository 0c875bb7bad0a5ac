import { Link } from "wouter";
import { compact, count, duration, money } from "../../ui";
import type { Statistics } from "./page";
import css from "./tiles.module.css";

/** The figures that one looks at first. Those of runs lead to the runs. */
export function Tiles({ statistics }: { statistics: Statistics }) {
  const { present, total, firstToken, step } = statistics;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cost } = total.usage;
  const tokens = inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
  return (
    <dl className={css.tiles}>
      <Tile name="Running" value={count(present.running)} href="/?status=running" />
      <Tile name="Queued" value={count(present.queued)} href="/?status=running" />
      <Tile name="Waiting" value={count(present.waiting)} href="/?status=waiting" />
      <Tile
        name="Failed"
        value={count(total.failed)}
        more={`of ${count(total.turns)} turns`}
        href="/?status=failed"
      />
      <Tile name="Cost" value={money(cost)} more={`${count(total.calls)} model calls`} />
      <Tile name="Tokens" value={compact(tokens)} more={`${compact(outputTokens)} of them out`} />
      <Tile
        name="First token"
        value={time(firstToken.p50)}
        more={`95 %: ${time(firstToken.p95)}`}
      />
      <Tile name="A step" value={time(step.p50)} more={`95 %: ${time(step.p95)}`} />
    </dl>
  );
}

function time(milliseconds: number | null): string {
  return milliseconds === null ? "–" : duration(milliseconds);
}

function Tile(props: { name: string; value: string; more?: string; href?: string }) {
  const { name, value, more, href } = props;
  return (
    <div className={css.tile}>
      <dt className={css.name}>{href ? <Link href={href}>{name}</Link> : name}</dt>
      <dd className={css.value}>
        {value}
        {more && <span className={css.more}>{more}</span>}
      </dd>
    </div>
  );
}

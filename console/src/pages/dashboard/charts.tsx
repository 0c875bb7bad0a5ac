import {
  Bar,
  BarChart,
  CartesianGrid,
  ResponsiveContainer,
  Tooltip,
  type TooltipContentProps,
  XAxis,
  YAxis,
} from "recharts";
import { Card, compact, count, fullTime, money } from "../../ui";
import css from "./charts.module.css";
import type { Statistics } from "./page";
import { type SpanName, tick } from "./span";

interface Point {
  from: string;
  completed: number;
  failed: number;
  cancelled: number;
  open: number;
  tokensIn: number;
  tokensOut: number;
  cost: number;
}

interface Series {
  key: keyof Point;
  name: string;
  color: string;
}

const TURNS: Series[] = [
  { key: "completed", name: "Completed", color: "var(--green)" },
  { key: "failed", name: "Failed", color: "var(--red)" },
  { key: "cancelled", name: "Stopped", color: "var(--ink-faint)" },
  { key: "open", name: "Not ended", color: "var(--blue)" },
];
const TOKENS: Series[] = [
  { key: "tokensIn", name: "In", color: "var(--accent)" },
  { key: "tokensOut", name: "Out", color: "var(--violet)" },
];
const COST: Series[] = [{ key: "cost", name: "Cost", color: "var(--amber)" }];

/** Turns, tokens and cost over time. Each picture has its figures in words too. */
export function Charts({ statistics, name }: { statistics: Statistics; name: SpanName }) {
  const points = statistics.parts.map(({ from, figures }): Point => {
    const { turns, completed, failed, cancelled, usage } = figures;
    return {
      from,
      completed,
      failed,
      cancelled,
      open: turns - completed - failed - cancelled,
      tokensIn: usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
      tokensOut: usage.outputTokens,
      cost: Number(usage.cost ?? 0),
    };
  });
  return (
    <div className={css.charts}>
      <Chart title="Turns" points={points} series={TURNS} name={name} text={count} />
      <Chart title="Tokens" points={points} series={TOKENS} name={name} text={compact} />
      <Chart title="Cost" points={points} series={COST} name={name} text={money} />
    </div>
  );
}

interface ChartProps {
  title: string;
  points: Point[];
  series: Series[];
  name: SpanName;
  text: (value: number) => string;
}

function Chart({ title, points, series, name, text }: ChartProps) {
  return (
    <Card title={title} aside={<Legend series={series} />}>
      <figure className={css.picture}>
        <ResponsiveContainer width="100%" height={180}>
          <BarChart data={points} margin={{ top: 4, right: 4, bottom: 0, left: 0 }}>
            <CartesianGrid vertical={false} stroke="var(--line)" />
            <XAxis
              dataKey="from"
              tickFormatter={(from: string) => tick(name, from)}
              stroke="var(--ink-faint)"
              tickLine={false}
              minTickGap={24}
              fontSize={11}
            />
            <YAxis
              width={44}
              stroke="var(--ink-faint)"
              tickLine={false}
              axisLine={false}
              allowDecimals={title === "Cost"}
              tickFormatter={text}
              fontSize={11}
            />
            <Tooltip
              cursor={{ fill: "var(--hover)" }}
              content={(props) => <Shown {...props} text={text} />}
              isAnimationActive={false}
            />
            {series.map(({ key, name: label, color }) => (
              <Bar
                key={key}
                dataKey={key}
                name={label}
                fill={color}
                stackId="all"
                isAnimationActive={false}
              />
            ))}
          </BarChart>
        </ResponsiveContainer>
        <figcaption className="sr-only">
          {title} from {fullTime(points[0]?.from ?? "")}:{" "}
          {series
            .map(({ key, name: label }) => {
              const sum = points.reduce((total, point) => total + Number(point[key]), 0);
              return `${label} ${text(sum)}`;
            })
            .join(", ")}
        </figcaption>
      </figure>
    </Card>
  );
}

function Legend({ series }: { series: Series[] }) {
  if (series.length < 2) return null;
  return (
    <ul className={css.legend}>
      {series.map(({ key, name, color }) => (
        <li key={key} className={css.entry}>
          <span className={css.color} style={{ background: color }} />
          {name}
        </li>
      ))}
    </ul>
  );
}

function Shown(props: Partial<TooltipContentProps> & { text: (value: number) => string }) {
  const { active, payload, label, text } = props;
  if (!active || !payload?.length) return null;
  return (
    <div className={css.tip}>
      <strong>{fullTime(String(label))}</strong>
      {payload.map(({ name, value }) => (
        <span key={String(name)}>
          {String(name)}: {text(Number(value))}
        </span>
      ))}
    </div>
  );
}

import { Card, compact, count, cx, money, Scrolling } from "../../ui";
import table from "../../ui/table.module.css";
import css from "./group-table.module.css";
import type { Statistics } from "./page";

type Group = Statistics["agents"][number];

/** Who has used what: the dearest first, each with its part of the whole. */
export function GroupTable({ title, groups }: { title: string; groups: Group[] }) {
  const dearest = Math.max(...groups.map(({ figures }) => Number(figures.usage.cost ?? 0)));
  const most = Math.max(...groups.map(({ figures }) => tokensOf(figures)));
  const part = ({ figures }: Group) =>
    dearest > 0 ? Number(figures.usage.cost ?? 0) / dearest : tokensOf(figures) / (most || 1);
  return (
    <Card flush title={title}>
      <Scrolling label={title}>
        <table className={table.table}>
          <thead>
            <tr>
              <th>Name</th>
              <th className={table.number}>Turns</th>
              <th className={table.number}>Failed</th>
              <th className={table.number}>Tokens</th>
              <th className={table.number}>Cost</th>
            </tr>
          </thead>
          <tbody>
            {groups.map((group) => (
              <tr key={group.name}>
                <td>
                  {group.name}
                  <span className={css.track} aria-hidden="true">
                    <span className={css.part} style={{ width: `${part(group) * 100}%` }} />
                  </span>
                </td>
                <td className={table.number}>{count(group.figures.turns)}</td>
                <td className={cx(table.number, group.figures.failed > 0 && css.failed)}>
                  {count(group.figures.failed)}
                </td>
                <td className={table.number}>{compact(tokensOf(group.figures))}</td>
                <td className={table.number}>{money(group.figures.usage.cost)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </Card>
  );
}

function tokensOf({ usage }: Group["figures"]): number {
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}

import type { ListedRun } from "@steersman/react";
import { CornerDownRight } from "lucide-react";
import { Link } from "wouter";
import { Ago, Card, cx, Scrolling, StatusBadge } from "../../ui";
import table from "../../ui/table.module.css";
import type { Column } from "./columns";
import css from "./run-table.module.css";
import type { Selection } from "./use-selection";

interface RunTableProps {
  runs: ListedRun[];
  columns: Column[];
  selection: Selection;
  /** The run that the keyboard is at. */
  cursor: string | null;
}

/** Runs as rows; on a phone as cards. */
export function RunTable({ runs, columns, selection, cursor }: RunTableProps) {
  const all = runs.length > 0 && selection.ids.size === runs.length;
  return (
    <Card flush>
      <Scrolling label="Runs">
        <table className={cx(table.table, css.runs)}>
          <thead>
            <tr>
              <th>
                <input
                  type="checkbox"
                  aria-label="Choose all that are shown"
                  checked={all}
                  ref={(box) => {
                    if (box) box.indeterminate = !all && selection.ids.size > 0;
                  }}
                  onChange={() => selection.all(!all)}
                />
              </th>
              <th>Run</th>
              <th>Agent</th>
              <th>Status</th>
              {columns.map(({ id, title, isNumber }) => (
                <th key={id} className={cx(isNumber && table.number)}>
                  {title}
                </th>
              ))}
              <th className={table.number}>Age</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <Row
                key={run.id}
                run={run}
                columns={columns}
                selection={selection}
                here={run.id === cursor}
              />
            ))}
          </tbody>
        </table>
      </Scrolling>
    </Card>
  );
}

interface RowProps {
  run: ListedRun;
  columns: Column[];
  selection: Selection;
  here: boolean;
}

function Row({ run, columns, selection, here }: RowProps) {
  const title = run.title ?? "Untitled run";
  const stopping = run.cancelRequested && ["RUNNING", "WAITING"].includes(run.status);
  return (
    <tr data-run={run.id} className={cx(here && css.here)}>
      <td className={css.choose}>
        <input
          type="checkbox"
          aria-label={`Choose ${title}`}
          checked={selection.ids.has(run.id)}
          onChange={(event) =>
            selection.toggle(run.id, (event.nativeEvent as MouseEvent).shiftKey === true)
          }
        />
      </td>
      <td className={css.title}>
        {run.parent && (
          <CornerDownRight size={14} aria-label="Begun by another run" className={css.sub} />
        )}
        <Link href={`/runs/${run.id}`}>{title}</Link>
        {run.error && <span className={css.error}>{run.error.message}</span>}
      </td>
      <td className={css.agent}>{run.agent}</td>
      <td className={css.status}>
        <StatusBadge status={stopping ? "cancelling" : run.status} />
      </td>
      {columns.map(({ id, title: name, isNumber, text }) => (
        <td key={id} data-name={name} className={cx(css.more, isNumber && table.number)}>
          {text(run)}
        </td>
      ))}
      <td className={cx(css.age, table.number)}>
        <Ago time={run.createdAt} />
      </td>
    </tr>
  );
}

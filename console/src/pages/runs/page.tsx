import { useRuns } from "@steersman/react";
import { Columns3, Pause, Play, Square } from "lucide-react";
import { useMemo, useState } from "react";
import { useClient } from "urql";
import { useLocation, useSearchParams } from "wouter";
import { useShortcuts } from "../../app/shortcuts";
import {
  announce,
  Button,
  Card,
  Confirm,
  Dialog,
  ErrorNote,
  Page,
  Skeleton,
  Switch,
} from "../../ui";
import { cancelMany, type NotStopped } from "./cancel-many";
import { COLUMNS, chooseColumns, chosenColumns } from "./columns";
import { FilterBar } from "./filter-bar";
import { addressOf, filtersOf, isFiltered, queryOf } from "./filters";
import { NothingMatches, NothingYet } from "./nothing";
import css from "./page.module.css";
import { RunTable } from "./run-table";
import { useCursor } from "./use-cursor";
import { useFrozen } from "./use-frozen";
import { useSelection } from "./use-selection";

/** All runs, the newest first, live. */
export default function RunsPage() {
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => filtersOf(params), [params]);
  const list = useRuns({ filter: queryOf(filters) });
  const listed = useMemo(
    () => list.runs.filter(({ parent }) => filters.subruns || parent === null),
    [list.runs, filters.subruns],
  );
  const { runs, isFrozen, freeze, waiting } = useFrozen(listed);
  const ids = useMemo(() => runs.map(({ id }) => id), [runs]);
  const selection = useSelection(ids);
  const [columns, setColumns] = useState(chosenColumns);
  const [choosing, setChoosing] = useState(false);
  const [, navigate] = useLocation();
  const cursor = useCursor(ids);
  useShortcuts("Runs", [
    { keys: "j", label: "Next run", run: () => cursor.move(1) },
    { keys: "k", label: "Previous run", run: () => cursor.move(-1) },
    { keys: "o", label: "Open it", run: () => cursor.id && navigate(`/runs/${cursor.id}`) },
    { keys: "x", label: "Select it", run: () => cursor.id && selection.toggle(cursor.id) },
    {
      keys: "/",
      label: "Search",
      run: () => document.querySelector<HTMLElement>("[data-search]")?.focus(),
    },
    { keys: "p", label: "Freeze or go on", run: () => freeze(!isFrozen) },
  ]);

  const choose = (next: string[]) => {
    chooseColumns(next);
    setColumns(next);
  };
  const isEmpty = runs.length === 0 && !list.isLoading && !list.hasMore;
  if (isEmpty && !isFiltered(filters) && list.error === null)
    return (
      <Page title="Runs">
        <NothingYet />
      </Page>
    );
  return (
    <Page
      title="Runs"
      actions={
        <>
          <Button
            look="quiet"
            icon={isFrozen ? <Play /> : <Pause />}
            aria-pressed={isFrozen}
            onClick={() => freeze(!isFrozen)}
          >
            {isFrozen ? "Go on" : "Freeze"}
          </Button>
          <Button look="quiet" icon={<Columns3 />} onClick={() => setChoosing(true)}>
            Columns
          </Button>
        </>
      }
    >
      <FilterBar
        filters={filters}
        agents={list.runs.map(({ agent }) => agent)}
        onChange={(next) => setParams(addressOf(next), { replace: true })}
      />
      {list.error && <ErrorNote title="The runs can't be read" problem={list.error} />}
      {waiting > 0 && (
        <Button className={css.news} onClick={() => freeze(false)}>
          {waiting} {waiting === 1 ? "run has" : "runs have"} changed: show
        </Button>
      )}
      <Stopping ids={[...selection.ids]} onDone={() => selection.all(false)} />
      {list.isLoading && runs.length === 0 ? (
        <Card>
          <Skeleton rows={8} />
        </Card>
      ) : isEmpty ? (
        <NothingMatches onClear={() => setParams(new URLSearchParams(), { replace: true })} />
      ) : (
        <RunTable
          runs={runs}
          columns={COLUMNS.filter(({ id }) => columns.includes(id))}
          selection={selection}
          cursor={cursor.id}
        />
      )}
      {list.hasMore && (
        <Button className={css.further} onClick={() => void list.loadMore()}>
          Older runs
        </Button>
      )}
      <Dialog open={choosing} onOpenChange={setChoosing} title="Columns">
        <div className={css.columns}>
          {COLUMNS.map(({ id, title }) => (
            <Switch
              key={id}
              label={title}
              checked={columns.includes(id)}
              onChange={(on) =>
                choose(on ? [...columns, id] : columns.filter((each) => each !== id))
              }
            />
          ))}
        </div>
      </Dialog>
    </Page>
  );
}

/** Stops the chosen runs together, once that was confirmed, and says which could not be. */
function Stopping({ ids, onDone }: { ids: string[]; onDone: () => void }) {
  const client = useClient();
  const [asks, setAsks] = useState(false);
  const [left, setLeft] = useState<NotStopped[]>([]);
  const runs = `${ids.length} ${ids.length === 1 ? "run" : "runs"}`;
  const stop = async () => {
    const failed = await cancelMany(client, ids);
    setLeft(failed);
    announce(`${ids.length - failed.length} of ${runs} stopped`);
    onDone();
  };
  return (
    <>
      {ids.length > 0 && (
        <div className={css.chosen} role="toolbar" aria-label="Chosen runs">
          <strong>{runs} chosen</strong>
          <Button small look="danger" icon={<Square />} onClick={() => setAsks(true)}>
            Stop {runs}
          </Button>
          <Button small onClick={onDone}>
            Choose none
          </Button>
        </div>
      )}
      {left.map(({ runId, problem }) => (
        <ErrorNote
          key={runId}
          title={`${runId} was not stopped`}
          problem={problem}
          onDismiss={() => setLeft(left.filter((each) => each.runId !== runId))}
        />
      ))}
      <Confirm
        open={asks}
        onOpenChange={setAsks}
        danger
        title={`Stop ${runs}?`}
        description="Each stops where it is. What it has shown is kept, and it can be gone on with later."
        confirm={`Stop ${runs}`}
        onConfirm={stop}
      />
    </>
  );
}

import { useRuns } from "@steersman/react";
import { Columns3, Pause, Play } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { useShortcuts } from "../../app/shortcuts";
import { useViewer } from "../../session/viewer";
import { Button, Card, Dialog, ErrorNote, Page, Skeleton, Switch } from "../../ui";
import { COLUMNS, chooseColumns, chosenColumns } from "./columns";
import { FilterBar } from "./filter-bar";
import { addressOf, filtersOf, isFiltered, queryOf } from "./filters";
import { NothingMatches, NothingYet } from "./nothing";
import css from "./page.module.css";
import { RunTable } from "./run-table";
import { Stopping } from "./stopping";
import { useCursor } from "./use-cursor";
import { useFrozen } from "./use-frozen";
import { useSelection } from "./use-selection";

/** All runs, the newest first, live. */
export default function RunsPage() {
  const [params, setParams] = useSearchParams();
  const viewer = useViewer();
  const filters = useMemo(() => filtersOf(params), [params]);
  const list = useRuns({ filter: queryOf(filters, viewer.isAdmin) });
  const listed = useMemo(
    () => list.runs.filter(({ parent }) => filters.subruns || parent === null),
    [list.runs, filters.subruns],
  );
  const { runs, isFrozen, freeze, waiting } = useFrozen(listed, addressOf(filters).toString());
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
  // A page of the list may be of sub-runs alone, which are not shown: what is shown stands further back.
  const isHidden = listed.length === 0 && list.hasMore && list.error === null;
  const { loadMore } = list;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page that was read
  useEffect(() => {
    if (isHidden) void loadMore();
  }, [isHidden, list.runs, loadMore]);

  const isLoading = runs.length === 0 && (list.isLoading || isHidden);
  const isEmpty = runs.length === 0 && !isLoading && list.error === null;
  const isNothingYet = isEmpty && !isFiltered(filters);
  // Whoever may look at the runs of others needs the switch for it.
  if (isNothingYet && !viewer.isAdmin)
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
        isAdmin={viewer.isAdmin}
        agents={list.runs.map(({ agent }) => agent)}
        onChange={(next) => setParams(addressOf(next), { replace: true })}
      />
      {list.error && <ErrorNote title="The runs can't be read" problem={list.error} />}
      {waiting > 0 && (
        <Button className={css.news} onClick={() => freeze(false)}>
          {waiting} {waiting === 1 ? "run has" : "runs have"} changed: show
        </Button>
      )}
      <Stopping
        runs={listed.filter(({ id }) => selection.ids.has(id))}
        cancelMany={list.cancelMany}
        onDone={() => selection.all(false)}
      />
      {isLoading ? (
        <Card>
          <Skeleton rows={8} />
        </Card>
      ) : isNothingYet ? (
        <NothingYet />
      ) : isEmpty ? (
        <NothingMatches onClear={() => setParams(new URLSearchParams(), { replace: true })} />
      ) : (
        runs.length > 0 && (
          <RunTable
            runs={runs}
            columns={COLUMNS.filter(
              // Whose each run is goes without saying where one's own alone are shown.
              ({ id }) =>
                columns.includes(id) || (id === "owner" && viewer.isAdmin && filters.everyone),
            )}
            selection={selection}
            cursor={cursor.id}
          />
        )
      )}
      {list.hasMore && runs.length > 0 && (
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

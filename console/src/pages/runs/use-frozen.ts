import type { ListedRun } from "@steersman/react";
import { useMemo, useState } from "react";

interface Frozen {
  runs: ListedRun[];
  isFrozen: boolean;
  freeze: (on: boolean) => void;
  /** How many runs have come, changed or gone since. */
  waiting: number;
}

/**
 * A list that stands still while a person reads, and tells how much has changed meanwhile. Older runs that are asked for
 * come below it. `of` names the list: another one is not held.
 */
export function useFrozen(live: ListedRun[], of: string): Frozen {
  const [held, hold] = useState<{ of: string; runs: ListedRun[] } | null>(null);
  if (held !== null && held.of !== of) hold(null);
  const still = held?.of === of ? held.runs : null;
  const { runs, waiting } = useMemo(() => since(still, live), [still, live]);
  // Where there is nothing to read, nothing need stand still.
  const freeze = (on: boolean) => hold(on && runs.length > 0 ? { of, runs } : null);
  return { runs, isFrozen: still !== null, freeze, waiting };
}

function since(held: ListedRun[] | null, live: ListedRun[]): Pick<Frozen, "runs" | "waiting"> {
  if (held === null) return { runs: live, waiting: 0 };
  const last = held.at(-1);
  const further = last === undefined ? [] : live.filter((run) => isOlder(run, last));
  const older = new Set(further);
  const before = new Map(held.map(({ id, updatedAt }) => [id, updatedAt]));
  const there = new Set(live.map(({ id }) => id));
  const news = live.filter((run) => !older.has(run) && before.get(run.id) !== run.updatedAt);
  const gone = held.filter(({ id }) => !there.has(id));
  return { runs: [...held, ...further], waiting: news.length + gone.length };
}

function isOlder(run: ListedRun, than: ListedRun): boolean {
  return run.createdAt === than.createdAt ? run.id < than.id : run.createdAt < than.createdAt;
}

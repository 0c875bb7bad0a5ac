import type { ListedRun } from "@steersman/react";
import { useMemo, useState } from "react";

interface Frozen {
  runs: ListedRun[];
  isFrozen: boolean;
  freeze: (on: boolean) => void;
  /** How many runs are new or have changed since. */
  waiting: number;
}

/** A list that stands still while a person reads, and tells how much has changed meanwhile. */
export function useFrozen(live: ListedRun[]): Frozen {
  const [held, hold] = useState<ListedRun[] | null>(null);
  const waiting = useMemo(() => {
    if (held === null) return 0;
    const before = new Map(held.map(({ id, updatedAt }) => [id, updatedAt]));
    return live.filter(({ id, updatedAt }) => before.get(id) !== updatedAt).length;
  }, [held, live]);
  return {
    runs: held ?? live,
    isFrozen: held !== null,
    freeze: (on) => hold(on ? live : null),
    waiting,
  };
}

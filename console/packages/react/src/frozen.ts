import type { Listed } from "./api.js";

/** How many runs are new in a list, gone from it or changed in it since it was `held`. */
export function changesSince(
  held: readonly Listed[],
  { runs, hasMore }: { runs: readonly Listed[]; hasMore: boolean },
): number {
  const before = new Map(held.map(({ id, updatedAt }) => [id, updatedAt]));
  const now = new Set(runs.map(({ id }) => id));
  const last = runs.at(-1);
  // What is older than all that was read is not gone: it has yet to be read again.
  const isUnread = (run: Listed) => hasMore && last !== undefined && isOlder(run, last);
  const gone = held.filter((run) => !now.has(run.id) && !isUnread(run));
  const changed = runs.filter(({ id, updatedAt }) => before.get(id) !== updatedAt);
  return gone.length + changed.length;
}

/** A held list with the older runs that were read since. */
export function withOlder(held: readonly Listed[], live: readonly Listed[]): Listed[] {
  const known = new Set(held.map(({ id }) => id));
  const last = held.at(-1);
  const older = live.filter((run) => !known.has(run.id) && (!last || isOlder(run, last)));
  return [...held, ...older];
}

function isOlder(run: Listed, than: Listed): boolean {
  if (run.createdAt !== than.createdAt) return run.createdAt < than.createdAt;
  return run.id < than.id;
}

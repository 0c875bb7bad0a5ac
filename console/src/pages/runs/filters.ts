import type { FinishReason, RunFilter, RunStatus } from "@steersman/react";

/** What the list shows, as it stands in the address. */
export interface Filters {
  status: RunStatus[];
  finish: FinishReason[];
  agent: string;
  search: string;
  /** The days, by the clock of who looks, from which and up to which runs were begun; empty where that is no matter. */
  from: string;
  to: string;
  /** Whether the runs of all users are shown, for administrators, and whose alone. */
  everyone: boolean;
  owner: string;
  /** Whether runs are shown that other runs began. */
  subruns: boolean;
}

export const STATUSES: RunStatus[] = [
  "RUNNING",
  "WAITING",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
  "IDLE",
];

export const FINISHES: FinishReason[] = [
  "STOP",
  "LENGTH",
  "CONTENT_FILTER",
  "MAX_STEPS",
  "STUCK",
  "BUDGET",
  "BALANCE",
  "LIMIT",
  "ERROR",
  "APPROVAL",
  "CLIENT_TOOL",
  "ABORTED",
];

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Nothing is filtered. */
export const NO_FILTERS = filtersOf(new URLSearchParams());

/** The filters in an address; what it has of others is left out. */
export function filtersOf(params: URLSearchParams): Filters {
  const named = (name: string) =>
    params.getAll(name).flatMap((each) => each.toUpperCase().split(","));
  const day = (name: string) => (DAY.test(params.get(name) ?? "") ? (params.get(name) ?? "") : "");
  return {
    status: STATUSES.filter((status) => named("status").includes(status)),
    finish: FINISHES.filter((finish) => named("finish").includes(finish)),
    agent: params.get("agent") ?? "",
    search: params.get("search") ?? "",
    from: day("from"),
    to: day("to"),
    everyone: params.get("of") === "everyone",
    owner: params.get("owner") ?? "",
    subruns: params.get("subruns") === "yes",
  };
}

/** The address of filters, without those that filter nothing. */
export function addressOf(filters: Filters): URLSearchParams {
  const { status, finish, agent, search, from, to, everyone, owner, subruns } = filters;
  const all = {
    status: status.join(",").toLowerCase(),
    finish: finish.join(",").toLowerCase(),
    agent,
    search,
    from,
    to,
    of: everyone ? "everyone" : "",
    owner,
    subruns: subruns ? "yes" : "",
  };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value));
}

/** Whether anything is filtered, so that an empty list says "nothing matches". */
export function isFiltered(filters: Filters): boolean {
  const { status, finish, agent, search, from, to, owner } = filters;
  return status.length > 0 || finish.length > 0 || [agent, search, from, to, owner].some(Boolean);
}

/** The same for the API; `isAdmin`: the viewer may look at the runs of all users. */
export function queryOf(filters: Filters, isAdmin: boolean): RunFilter {
  const { status, finish, agent, search, from, to, everyone, owner } = filters;
  return {
    ...(status.length > 0 && { status }),
    ...(finish.length > 0 && { finish }),
    ...(from && { createdAfter: dayBegins(from, 0) }),
    ...(to && { createdBefore: dayBegins(to, 1) }),
    ...(isAdmin && everyone && { everyone: true, ...(owner && { userId: owner }) }),
    ...(agent && { agent }),
    ...(search && { search }),
  };
}

/** The first moment of a day by the clock of who looks, or of one so many days later. */
function dayBegins(day: string, later: number): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

import type { RunFilter, RunStatus } from "@steersman/react";

/** What the list shows, as it stands in the address. */
export interface Filters {
  status: RunStatus[];
  agent: string;
  search: string;
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

/** The filters in an address; what it has of others is left out. */
export function filtersOf(params: URLSearchParams): Filters {
  const named = params.getAll("status").flatMap((each) => each.toUpperCase().split(","));
  return {
    status: STATUSES.filter((status) => named.includes(status)),
    agent: params.get("agent") ?? "",
    search: params.get("search") ?? "",
    subruns: params.get("subruns") === "yes",
  };
}

/** The address of filters, without those that filter nothing. */
export function addressOf({ status, agent, search, subruns }: Filters): URLSearchParams {
  const params = new URLSearchParams();
  if (status.length > 0) params.set("status", status.join(",").toLowerCase());
  if (agent) params.set("agent", agent);
  if (search) params.set("search", search);
  if (subruns) params.set("subruns", "yes");
  return params;
}

/** Whether anything is filtered, so that an empty list says "nothing matches". */
export function isFiltered({ status, agent, search }: Filters): boolean {
  return status.length > 0 || agent !== "" || search !== "";
}

/** The same for the API. */
export function queryOf({ status, agent, search }: Filters): RunFilter {
  return {
    ...(status.length > 0 && { status }),
    ...(agent && { agent }),
    ...(search && { search }),
  };
}

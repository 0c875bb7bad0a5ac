import type { ListedRun } from "@steersman/react";
import { compact, money } from "../../ui";

/** A column of the list beside agent, title and status, which always stand. */
export interface Column {
  id: string;
  title: string;
  /** Numbers stand at the right. */
  isNumber?: boolean;
  text: (run: ListedRun) => string;
  /** Shown until somebody chooses otherwise. */
  first?: boolean;
}

export const COLUMNS: Column[] = [
  {
    id: "finish",
    title: "Finish",
    first: true,
    text: ({ finish }) => (finish ?? "").toLowerCase().replace("_", " "),
  },
  { id: "steps", title: "Steps", isNumber: true, first: true, text: ({ steps }) => String(steps) },
  {
    id: "tokens",
    title: "Tokens",
    isNumber: true,
    text: ({ usage: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } }) =>
      compact(inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens),
  },
  {
    id: "cost",
    title: "Cost",
    isNumber: true,
    first: true,
    text: ({ usage }) => money(usage.cost),
  },
  { id: "owner", title: "Owner", text: ({ userId }) => userId },
];

const KEY = "steersman:columns";

/** The ids of the columns that were chosen in this browser. */
export function chosenColumns(): string[] {
  const kept = localStorage.getItem(KEY);
  if (kept !== null) return kept.split(",");
  return COLUMNS.filter(({ first }) => first).map(({ id }) => id);
}

export function chooseColumns(ids: string[]): void {
  localStorage.setItem(KEY, ids.join(","));
}

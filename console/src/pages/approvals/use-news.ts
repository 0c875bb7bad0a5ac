import type { Approval } from "@steersman/react";
import { useEffect, useRef } from "react";
import { label } from "../../parts/words/label";
import { announce } from "../../ui";

/** Says what comes into the inbox, and what leaves it without having been decided here: `decided` names what was. */
export function useNews(
  approvals: Approval[],
  isLoading: boolean,
  decided: ReadonlySet<string>,
): void {
  const before = useRef<Approval[] | null>(null);
  useEffect(() => {
    if (isLoading) return;
    const known = before.current;
    before.current = approvals;
    if (known === null) return;
    const come = without(approvals, known);
    const gone = without(known, approvals).filter(({ id }) => !decided.has(id));
    const said = [
      ...come.map(({ agent, name }) => `${agent} asks: ${label(name)}`),
      ...gone.map(({ name }) => `${label(name)} no longer waits`),
    ];
    if (said.length > 0) announce(said.join(". "));
  }, [approvals, isLoading, decided]);
}

function without(some: Approval[], others: Approval[]): Approval[] {
  const ids = new Set(others.map(({ id }) => id));
  return some.filter(({ id }) => !ids.has(id));
}

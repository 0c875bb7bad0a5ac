import { useCallback, useMemo, useRef, useState } from "react";

export interface Selection {
  ids: ReadonlySet<string>;
  /** Chooses or drops one; with `range`, all from the last one that was touched. */
  toggle: (id: string, range?: boolean) => void;
  all: (on: boolean) => void;
}

/** Which rows of a list are chosen. Those that have left the list are chosen no more. */
export function useSelection(listed: string[]): Selection {
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string | null>(null);
  const ids = useMemo(() => new Set(listed.filter((id) => chosen.has(id))), [listed, chosen]);

  const toggle = useCallback(
    (id: string, range = false) => {
      const from = range && last.current !== null ? listed.indexOf(last.current) : -1;
      const to = listed.indexOf(id);
      last.current = id;
      choose((before) => {
        const next = new Set(before);
        const on = !before.has(id);
        const touched = from < 0 ? [id] : listed.slice(Math.min(from, to), Math.max(from, to) + 1);
        for (const each of touched) {
          if (on) next.add(each);
          else next.delete(each);
        }
        return next;
      });
    },
    [listed],
  );
  const all = useCallback((on: boolean) => choose(new Set(on ? listed : [])), [listed]);
  return { ids, toggle, all };
}

import { useCallback, useState } from "react";

/** A text that outlives a reload of the tab, under a key of its own; `first` where there is none yet. */
export function useDraft(
  key: string,
  first: string,
): [text: string, write: (text: string) => void] {
  const name = `steersman:draft:${key}`;
  const [text, setText] = useState(() => sessionStorage.getItem(name) ?? first);
  const write = useCallback(
    (next: string) => {
      setText(next);
      if (next) sessionStorage.setItem(name, next);
      else sessionStorage.removeItem(name);
    },
    [name],
  );
  return [text, write];
}

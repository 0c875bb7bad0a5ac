import { useEffect, useState } from "react";

/** The row that the keyboard is at; it comes into view, and takes the focus, as it moves. */
export function useCursor(ids: string[]): { id: string | null; move: (by: number) => void } {
  const [id, setId] = useState<string | null>(null);
  useEffect(() => {
    if (id === null) return;
    const link = document.querySelector<HTMLElement>(`[data-run="${id}"] a`);
    link?.focus({ preventScroll: true });
    link?.scrollIntoView({ block: "nearest" });
  }, [id]);
  const move = (by: number) => {
    const at = id === null ? -1 : ids.indexOf(id);
    const next = ids[Math.min(ids.length - 1, Math.max(0, at + by))];
    if (next !== undefined) setId(next);
  };
  return { id: id !== null && ids.includes(id) ? id : null, move };
}

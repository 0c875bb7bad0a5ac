import { useEffect, useRef } from "react";

function cards(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("[data-approval]")];
}

/** Takes the focus to the card with this number, or to the nearest; to the page's heading where there is none. */
export function focusCard(at: number): void {
  const all = cards();
  const there = all[Math.min(all.length - 1, Math.max(0, at))];
  (there ?? document.querySelector<HTMLElement>("[data-page-title]"))?.focus();
}

/** The number of the card that has the focus; -1 where none has. */
export function focusedCard(): number {
  return cards().findIndex((card) => card.contains(document.activeElement));
}

/** The card that an element belongs to; for what stands above the cards of a run, the first of them. */
function cardOf(element: Element): HTMLElement | null {
  const section = element.closest("section");
  if (section === null || section.hasAttribute("data-approval")) return section;
  return section.querySelector<HTMLElement>("[data-approval]");
}

/** Where what had the focus goes with its card, the card in its place gets it, so that keys go on working. */
export function useKeptFocus(ids: string[]): void {
  const had = useRef<{ id: string; at: number } | null>(null);
  useEffect(() => {
    // A press beside the cards takes the focus from them too; nothing has to be kept then.
    const onTouch = ({ target }: Event) => {
      const card = target instanceof Element ? cardOf(target) : null;
      const id = card?.dataset.approval;
      had.current = card && id ? { id, at: cards().indexOf(card) } : null;
    };
    document.addEventListener("focusin", onTouch);
    document.addEventListener("pointerdown", onTouch);
    return () => {
      document.removeEventListener("focusin", onTouch);
      document.removeEventListener("pointerdown", onTouch);
    };
  }, []);
  useEffect(() => {
    const last = had.current;
    if (last === null || ids.includes(last.id)) return;
    had.current = null;
    if (document.activeElement === document.body) focusCard(last.at);
  }, [ids]);
}

import { useSyncExternalStore } from "react";

let said = "";
const listeners = new Set<() => void>();

/** Says something to those who hear the page, when they have listened to the end. */
export function announce(text: string): void {
  // The same words again are news only where they differ by something.
  said = text === said ? `${text}\u00a0` : text;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Where `announce` speaks: once on the page. */
export function Announcer() {
  const text = useSyncExternalStore(subscribe, () => said);
  return (
    <div className="sr-only" role="status" aria-live="polite" data-testid="announcer">
      {text}
    </div>
  );
}

const KEY = "steersman:keep-events";

/** Whether a subscription's events are all shown (the default), or the newest alone. */
export function keepsEvents(): boolean {
  return localStorage.getItem(KEY) !== "no";
}

/** Remembers the choice in this browser. */
export function keepEvents(kept: boolean): void {
  localStorage.setItem(KEY, kept ? "yes" : "no");
}

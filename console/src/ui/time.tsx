import { useSyncExternalStore } from "react";
import { ago, duration, fullTime } from "./figures";

// One clock for the page: each second, and only while something shows it.
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const tell of listeners) tell();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function current(): number {
  // A clock that stood still is set before it is read; while it runs, all see the same second.
  if (timer === undefined && Date.now() - now > 1000) now = Date.now();
  return now;
}

/** The time, in milliseconds, renewed each second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, current);
}

/** How long ago something was; the whole time on hover. */
export function Ago({ time }: { time: string }) {
  const text = ago(time, useNow());
  return (
    <time dateTime={time} title={fullTime(time)}>
      {text}
    </time>
  );
}

/** How long something took, or has taken so far where `to` is null. */
export function Took({ from, to }: { from: string; to: string | null }) {
  return to === null ? <TakesSoFar from={from} /> : duration(Date.parse(to) - Date.parse(from));
}

function TakesSoFar({ from }: { from: string }) {
  return duration(Math.max(0, useNow() - Date.parse(from)));
}

/** A value that tells of its changes, as `useSyncExternalStore` wants it. */
export interface Observable<Value> {
  getSnapshot(): Value;
  subscribe(listener: () => void): () => void;
  set(value: Value): void;
}

export function observable<Value>(first: Value): Observable<Value> {
  const listeners = new Set<() => void>();
  let value = first;
  return {
    getSnapshot: () => value,
    subscribe(listener) {
      // Wrapped, because the same function may be handed in twice.
      const entry = () => listener();
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
  };
}

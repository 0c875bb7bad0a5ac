import type { Transport } from "./transport.js";

/** A store as the hooks share it. */
interface Store {
  subscribe(listener: () => void): () => void;
}

const shared = new WeakMap<Transport, Map<string, Store>>();

/**
 * The one store of a name on a transport, made where there is none: components that show the same thing share what they
 * ask of the server. A store that nobody watches is forgotten.
 */
export function sharedStore<S extends Store>(transport: Transport, name: string, make: () => S): S {
  const stores = shared.get(transport) ?? new Map<string, Store>();
  shared.set(transport, stores);
  const known = stores.get(name);
  if (known !== undefined) return known as S;
  const store = counted(make(), () => stores.delete(name));
  stores.set(name, store);
  return store;
}

// Longer than a store stays connected without a watcher; a page that comes back later reads anew.
const FORGET_MS = 1_000;

function counted<S extends Store>(store: S, forget: () => void): S {
  let watchers = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (watchers === 0) forget();
    }, FORGET_MS);
  };
  later(); // a render that was thrown away never watches
  return {
    ...store,
    subscribe(listener) {
      watchers += 1;
      const leave = store.subscribe(listener);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        leave();
        watchers -= 1;
        if (watchers === 0) later();
      };
    },
  };
}

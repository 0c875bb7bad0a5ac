import { observable } from "./observable.js";
import { Painter } from "./painter.js";

// Who leaves and comes back at once (a page's change, React's StrictMode) finds the connection as it was.
const LINGER_MS = 250;

/**
 * A state that is kept up to date while somebody watches it. The first watcher connects, the last one to leave
 * disconnects; what changes in between is shown at most every `throttleMs`.
 */
export class Watched<State> {
  /** The newest state, shown or not. */
  state: State;
  /** Nothing connects any more. */
  disposed = false;
  readonly #shown;
  readonly #painter: Painter;
  #watchers = 0;
  #away = false;
  #linger: ReturnType<typeof setTimeout> | undefined;
  /** What ends the connection that stands; null where none does. */
  #leave: (() => void) | null = null;

  /** @param open connects, and gives what ends it; null where there is nothing to connect to yet. */
  constructor(
    first: State,
    throttleMs: number,
    readonly open: () => (() => void) | null,
  ) {
    this.state = first;
    this.#shown = observable(first);
    this.#painter = new Painter(throttleMs, () => this.#shown.set(this.state));
  }

  /** Sets the state; `now`: it is shown at once, because somebody has done something. */
  set(next: State, now = false): void {
    if (Object.is(next, this.state)) return;
    this.state = next;
    this.#painter.changed(now || this.#watchers === 0);
  }

  getSnapshot(): State {
    return this.#shown.getSnapshot();
  }

  subscribe(listener: () => void): () => void {
    const unlisten = this.#shown.subscribe(listener);
    this.#watchers += 1;
    clearTimeout(this.#linger);
    this.begin();
    let left = false;
    return () => {
      if (left) return;
      left = true;
      unlisten();
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#linger = setTimeout(() => this.end(), LINGER_MS);
    };
  }

  /** Connects where somebody watches and nothing speaks against it. */
  begin(): void {
    if (this.#watchers === 0 || this.#away || this.disposed) return;
    this.#leave ??= this.open();
  }

  /** Disconnects until `begin` is called again. */
  end(): void {
    this.#leave?.();
    this.#leave = null;
    this.#painter.stop();
    this.#shown.set(this.state);
  }

  /** Disconnects, and stays away whoever watches, until this is undone. */
  stayAway(away: boolean): void {
    this.#away = away;
    if (away) this.end();
    else this.begin();
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.#linger);
    this.end();
  }
}

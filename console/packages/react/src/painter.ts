/** Shows a value that changes often: at once where nothing was shown for a while, else when the pause is over. */
export class Painter {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = Number.NEGATIVE_INFINITY;

  constructor(
    readonly pauseMs: number,
    readonly paint: () => void,
  ) {}

  /** Something has changed; `now`: somebody waits to see it. */
  changed(now = false): void {
    const wait = this.#last + this.pauseMs - performance.now();
    if (now || wait <= 0) this.#show();
    else this.#timer ??= setTimeout(() => this.#show(), wait);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #show(): void {
    this.stop();
    this.#last = performance.now();
    this.paint();
  }
}

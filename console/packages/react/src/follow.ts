import { backoff } from "./backoff.js";
import type { Operation } from "./operation.js";
import { asTransportError, type Sink, type Transport, type TransportError } from "./transport.js";

/**
 * Follows a subscription for as long as somebody wants it: begins again where the server ends it or fails for a while.
 * `refused` is told why it can't go on.
 *
 * @returns what ends it.
 */
export function follow<Result, Variables>(
  transport: Transport,
  operation: Operation<Result, Variables>,
  variables: () => Variables,
  told: Pick<Sink<Result>, "next" | "opened"> & { refused(error: TransportError): void },
): () => void {
  let leave = () => {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  let tries = 0;
  const again = () => {
    timer = setTimeout(begin, backoff(tries));
    tries += 1;
  };
  const begin = () => {
    leave = transport.subscribe(operation, variables, {
      opened: () => told.opened?.(),
      next: (result) => {
        tries = 0;
        told.next(result);
      },
      error: (error) => (error.retryable ? again() : told.refused(error)),
      complete: again,
    });
  };
  begin();
  return () => {
    clearTimeout(timer);
    leave();
  };
}

/** Until it is answered, or refused in a way that no further try will change, or `gone` says that nobody wants it. */
export async function persist<Result>(
  attempt: () => Promise<Result>,
  options: { tries: number; gone?: () => boolean; failed?: (error: TransportError) => void },
): Promise<Result> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt();
    } catch (reason) {
      const error = asTransportError(reason);
      options.failed?.(error);
      if (!error.retryable || tries + 1 >= options.tries || options.gone?.()) throw error;
      await new Promise((resolve) => setTimeout(resolve, backoff(tries)));
      if (options.gone?.()) throw error;
    }
  }
}

const SECOND_LOOK_MS = 1_500;

/**
 * Reads when a subscription was asked for, and once more a little later: no answer tells when the server has begun it, and
 * what changed in between would be in neither.
 */
export function twice(read: () => void): { again(): void; stop(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    again() {
      read();
      clearTimeout(timer);
      timer = setTimeout(read, SECOND_LOOK_MS);
    },
    stop: () => clearTimeout(timer),
  };
}

import type { Operation } from "./operation.js";
import type { Connection } from "./state.js";

/** What is told to who follows a subscription. Nothing is told after `error`, `complete`, or after it was left. */
export interface Sink<Result> {
  /** It was asked for on a connection that stands: for the first time, or again after one was lost. */
  opened?(): void;
  next(result: Result): void;
  /** The server refused it, or the transport has given up. */
  error(error: TransportError): void;
  complete(): void;
}

/**
 * How a store reaches the API. `createTransport` makes the usual one, `@steersman/react/testing` one without a server, and
 * an application may bring its own.
 */
export interface Transport {
  /** Rejects with TransportError. */
  query<Result, Variables>(
    operation: Operation<Result, Variables>,
    variables: Variables,
  ): Promise<Result>;
  /** Rejects with TransportError. */
  mutate<Result, Variables>(
    operation: Operation<Result, Variables>,
    variables: Variables,
  ): Promise<Result>;
  /**
   * Follows a subscription over every loss of the connection, until it is left by the function that this gives.
   *
   * `variables` is called each time it is asked for on a new connection: that is how a store goes on behind what it has.
   */
  subscribe<Result, Variables>(
    operation: Operation<Result, Variables>,
    variables: () => Variables,
    sink: Sink<Result>,
  ): () => void;
  readonly connection: {
    getSnapshot(): Connection;
    /** Calls `listener` at each change, until the function that this gives is called. */
    subscribe(listener: () => void): () => void;
  };
}

/**
 * A request that was not answered, or was refused as a whole. `code` is the API's `extensions.code`; NETWORK where no
 * answer came, UNAUTHENTICATED where the token was refused.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later as it is. */
  get retryable(): boolean {
    return ["NETWORK", "UNAVAILABLE", "RATE_LIMITED"].includes(this.code);
  }

  /** Whether the server was reached and said no, which is no matter of the connection. */
  get answered(): boolean {
    return this.code !== "NETWORK" && this.code !== "UNAUTHENTICATED";
  }
}

/** Any error as one of a transport's. */
export function asTransportError(error: unknown): TransportError {
  if (error instanceof TransportError) return error;
  return new TransportError("NETWORK", error instanceof Error ? error.message : String(error));
}

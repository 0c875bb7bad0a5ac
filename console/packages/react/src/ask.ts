import { persist } from "./follow.js";
import type { Operation } from "./operation.js";
import type { Failure } from "./state.js";
import { failureOf } from "./status.js";
import { asTransportError, type Transport } from "./transport.js";

/** What every mutation answers. */
export interface Payload {
  errors: { code: string; message: string }[];
}

/** A payload, or why there is none. */
export type Answered<P> = { payload: P; error: null } | { payload: null; error: Failure };

// Within about eight seconds: longer, and it is better told than tried.
const TRIES = 6;

/**
 * Sends a mutation, and again where no answer came: what it does twice is done once, because its variables hold the same
 * key. Never rejects.
 *
 * @param gone asked before each further try: whether nobody waits for it any more.
 */
export async function ask<Name extends string, P extends Payload, Variables>(
  transport: Transport,
  gone: () => boolean,
  operation: Operation<Record<Name, P>, Variables>,
  variables: Variables,
  name: Name,
): Promise<Answered<P>> {
  try {
    const attempt = () => transport.mutate(operation, variables);
    const payload = (await persist(attempt, { tries: TRIES, gone }))[name];
    const [error] = payload.errors;
    return error ? { payload: null, error: failureOf(error) } : { payload, error: null };
  } catch (error) {
    return { payload: null, error: failureOf(asTransportError(error)) };
  }
}

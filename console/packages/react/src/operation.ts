/**
 * An operation of the API: its text, with the types of what it answers and of its variables, which exist for the
 * compiler alone.
 */
export interface Operation<Result, Variables> {
  readonly text: string;
  /** Never there at run time. */
  readonly types?: (variables: Variables) => Result;
}

/** An operation from its text. `tests/api.test.ts` checks every one of documents.ts against the printed schema. */
export function operation<Result, Variables>(text: string): Operation<Result, Variables> {
  return { text };
}

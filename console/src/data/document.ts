import { gql, type TypedDocumentNode } from "@urql/core";

/**
 * An operation with the types of what it takes and gives. They stand in `api.ts` beside the `documents.ts` that it is in,
 * which `npm run types` makes of it and the printed schema.
 */
export function document<Result, Variables>(text: string): TypedDocumentNode<Result, Variables> {
  return gql(text) as TypedDocumentNode<Result, Variables>;
}

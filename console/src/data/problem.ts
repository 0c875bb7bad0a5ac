import { TransportError } from "@steersman/react";
import { CombinedError } from "@urql/core";
import type { Problem } from "../ui";

/** Any error as a page shows it. */
export function problemOf(error: unknown): Problem {
  if (error instanceof CombinedError) return combined(error);
  if (error instanceof TransportError) return { code: error.code, message: error.message };
  return { code: "NETWORK", message: error instanceof Error ? error.message : String(error) };
}

function combined({ graphQLErrors, networkError, response }: CombinedError): Problem {
  const [first] = graphQLErrors;
  const status: unknown = response?.status;
  // A refused token has the code of a missing one; only the status tells the two apart.
  if (status === 401)
    return {
      code: "UNAUTHENTICATED",
      message: first?.message ?? "The token is wrong or has expired.",
    };
  if (first !== undefined)
    return { code: String(first.extensions.code ?? "INTERNAL"), message: first.message };
  return { code: "NETWORK", message: networkError?.message ?? "No answer came." };
}

/** The first refusal of a mutation's payload; null where it was done. */
export function refusalOf(
  payload: { errors: Array<{ code: string; message: string }> } | null | undefined,
): Problem | null {
  return payload?.errors[0] ?? null;
}

import type { Operation } from "./operation.js";
import { TransportError } from "./transport.js";

/** What a server answers, as far as it is looked at. */
export interface Answer {
  data?: unknown;
  errors?: readonly { message: string; extensions?: { code?: unknown } | undefined }[] | undefined;
}

/** Why an answer is none; null where it is one. */
export function errorOf({ data, errors }: Answer): TransportError | null {
  const [error] = errors ?? [];
  if (error) return refusal(error);
  return data == null ? new TransportError("INTERNAL", "The answer has no data.") : null;
}

/** A top-level error of the API. */
export function refusal(error: NonNullable<Answer["errors"]>[number]): TransportError {
  const code = error.extensions?.code;
  return new TransportError(typeof code === "string" ? code : "INTERNAL", error.message);
}

/** One operation by POST. Throws TransportError. */
export async function post<Result, Variables>(
  ask: typeof fetch,
  url: string,
  token: string | null,
  operation: Operation<Result, Variables>,
  variables: Variables,
): Promise<Result> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/graphql-response+json, application/json;q=0.9",
  };
  if (token !== null) headers.authorization = `Bearer ${token}`;
  const body = JSON.stringify({ query: operation.text, variables });
  const response = await ask(url, { method: "POST", headers, body }).catch((error: unknown) => {
    throw new TransportError("NETWORK", error instanceof Error ? error.message : String(error));
  });
  if (response.status === 401)
    throw new TransportError("UNAUTHENTICATED", "The token is wrong or has expired.");
  const answer = await read(response);
  const error = errorOf(answer);
  if (error !== null) throw error;
  return answer.data as Result;
}

async function read(response: Response): Promise<Answer> {
  try {
    const answer: unknown = await response.json();
    if (typeof answer === "object" && answer !== null && ("data" in answer || "errors" in answer))
      return answer as Answer;
  } catch {
    // No JSON: a proxy's page, or a connection that broke in the middle.
  }
  throw new TransportError("NETWORK", `The server answered ${response.status} without a result.`);
}

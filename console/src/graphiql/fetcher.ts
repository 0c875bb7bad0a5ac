import type { Fetcher, FetcherOpts, FetcherParams, FetcherReturnType } from "@graphiql/toolkit";
import { type DocumentNode, Kind, type OperationDefinitionNode, parse } from "graphql";
import { createClient, type SubscribePayload } from "graphql-ws";
import { type Shown, watch } from "./watch";

/** The address parts of the page that say where its own server is. */
type Place = Pick<Location, "origin">;

/**
 * A GraphiQL fetcher for the page's own server: queries and mutations by POST, subscriptions by graphql-transport-ws,
 * both at /graphql. What the headers editor holds goes with either: as HTTP headers, or in the connection_init payload
 * under lower-case names, where the server looks for `authorization`. Where it names none, the token of who is signed in
 * to the console does.
 *
 * @param place the page's address; its origin is the server's.
 * @param keepsEvents asked at each subscription: show all events, or the newest alone.
 * @param token asked at each operation.
 */
export function createFetcher(
  place: Place,
  keepsEvents: () => boolean,
  token: () => Promise<string | null>,
): Fetcher {
  const url = new URL("/graphql", place.origin);
  return async (params, options) => {
    const headers = await signed(headersOf(options), token);
    const operation = chosen(params);
    const request = operation
      ? { ...params, operationName: operation.name?.value ?? null }
      : params;
    const shown =
      operation?.operation === "subscription"
        ? subscribe(url, request, headers, keepsEvents())
        : post(url, request, headers);
    // GraphiQL shows any object; its type names only the plain results of graphql-js.
    return shown as FetcherReturnType;
  };
}

function headersOf(options: FetcherOpts | undefined): Record<string, string> {
  const typed: Record<string, unknown> = options?.headers ?? {};
  return Object.fromEntries(
    Object.entries(typed).map(([name, value]) => [name.toLowerCase(), String(value)]),
  );
}

async function signed(
  headers: Record<string, string>,
  token: () => Promise<string | null>,
): Promise<Record<string, string>> {
  if (headers.authorization !== undefined) return headers;
  const own = await token();
  return own === null ? headers : { ...headers, authorization: `Bearer ${own}` };
}

/**
 * The operation to run: the one of the name given, or else the only one. GraphiQL hands over the name of the tab that was
 * left where one is quick to press play in another.
 */
function chosen({ query, operationName }: FetcherParams): OperationDefinitionNode | undefined {
  const operations = parsed(query)?.definitions.filter(
    (node) => node.kind === Kind.OPERATION_DEFINITION,
  );
  const named = operations?.find((node) => node.name?.value === operationName);
  return named ?? (operations?.length === 1 ? operations[0] : undefined);
}

function parsed(query: string): DocumentNode | undefined {
  try {
    return parse(query);
  } catch {
    return undefined; // The server says better what is wrong with the text.
  }
}

async function post(
  url: URL,
  params: FetcherParams,
  headers: Record<string, string>,
): Promise<Shown> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/graphql-response+json, application/json;q=0.9",
      ...headers,
    },
    body: JSON.stringify(params),
  });
  const body = await response.text();
  try {
    return JSON.parse(body) as Shown;
  } catch {
    throw new Error(
      `The server answered ${response.status} ${response.statusText}: ${body.slice(0, 500)}`,
    );
  }
}

function subscribe(
  url: URL,
  params: FetcherParams,
  headers: Record<string, string>,
  keep: boolean,
) {
  const address = new URL(url);
  address.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  // A socket a subscription: the headers may change from one to the next. Not reconnected by itself, because it would
  // begin again from the start; whoever runs it again says with `after` where to go on.
  const client = createClient({ url: address.href, connectionParams: headers, retryAttempts: 0 });
  const payload: SubscribePayload = {
    query: params.query,
    ...(params.variables && { variables: params.variables }),
    ...(params.operationName && { operationName: params.operationName }),
  };
  return watch((sink) => client.subscribe(payload, sink), keep);
}

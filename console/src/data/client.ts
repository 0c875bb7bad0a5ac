import { createTransport, type Transport } from "@steersman/react";
import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { session } from "../session/session";
import { CACHE } from "./cache";

/** How the console reaches the API: one HTTP client with its cache, and one socket that everything shares. */
export interface Data {
  client: Client;
  transport: Transport;
  /** Calls `listener` once the server refuses the token, until the function that this gives is called. */
  onRefused(listener: () => void): () => void;
  dispose(): void;
}

/** `fetch` with the token of who is signed in; `refused` is called where it is not taken. */
function signed(refused: () => void): typeof fetch {
  return async (input, init) => {
    const token = await session.token();
    const headers = new Headers(init?.headers);
    if (token !== null) headers.set("authorization", `Bearer ${token}`);
    const response = await fetch(input, { ...init, headers });
    if (response.status === 401) refused();
    return response;
  };
}

/** A client for who is signed in now; another user needs another one, since its cache holds what that user may see. */
export function createData(): Data {
  const listeners = new Set<() => void>();
  const refused = () => {
    for (const listener of listeners) listener();
  };
  const transport = createTransport({ token: session.token });
  transport.connection.subscribe(() => {
    if (transport.connection.getSnapshot().error?.code === "UNAUTHENTICATED") refused();
  });
  const client = new Client({
    url: "/graphql",
    fetch: signed(refused),
    preferGetMethod: false,
    exchanges: [cacheExchange(CACHE), fetchExchange, subscriptions(transport)],
  });
  const onRefused = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return { client, transport, onRefused, dispose: transport.dispose };
}

function subscriptions(transport: Transport) {
  return subscriptionExchange({
    forwardSubscription: ({ query = "", variables }) => ({
      subscribe: (sink) => ({
        unsubscribe: transport.subscribe({ text: query }, () => variables ?? {}, {
          next: (data) => sink.next({ data: data as Record<string, unknown> }),
          error: (error) => sink.error(error),
          complete: () => sink.complete(),
        }),
      }),
    }),
  });
}

import { createTransport, type Transport } from "@steersman/react";
import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { session } from "../session/session";
import { CACHE } from "./cache";

/** How the console reaches the API: one HTTP client with its cache, and one socket that everything shares. */
export interface Data {
  client: Client;
  transport: Transport;
  dispose(): void;
}

const signed: typeof fetch = async (input, init) => {
  const token = await session.token();
  const headers = new Headers(init?.headers);
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  return fetch(input, { ...init, headers });
};

/** A client for who is signed in now; another user needs another one, since its cache holds what that user may see. */
export function createData(): Data {
  const transport = createTransport({ token: session.token });
  const client = new Client({
    url: "/graphql",
    fetch: signed,
    preferGetMethod: false,
    exchanges: [cacheExchange(CACHE), fetchExchange, subscriptions(transport)],
  });
  return { client, transport, dispose: transport.dispose };
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

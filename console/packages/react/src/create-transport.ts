import { type Client, createClient } from "graphql-ws/client";
import { backoff } from "./backoff.js";
import { type Answer, errorOf, post, refusal } from "./http.js";
import { observable } from "./observable.js";
import type { Operation } from "./operation.js";
import type { Connection, Failure } from "./state.js";
import { failureOf } from "./status.js";
import { asTransportError, type Sink, type Transport, TransportError } from "./transport.js";

export interface TransportOptions {
  /** Where the API is; `/graphql` of the page's own host by default. */
  url?: string;
  /** The token to sign in with, asked for at each request and each new connection; null for nobody. */
  token?: () => string | null | Promise<string | null>;
  /** In the place of the global ones. */
  fetch?: typeof fetch;
  webSocket?: unknown;
}

const PING_MS = 15_000;
const PONG_MS = 5_000;
// From one page to the next the socket stays.
const LINGER_MS = 1_000;
const FORBIDDEN = 4403;

/**
 * A transport over `fetch` and one WebSocket that all subscriptions share; `dispose` closes it for good. It touches neither
 * before it is used, so it may be made where there is no browser.
 */
export function createTransport(options: TransportOptions = {}): Transport & { dispose(): void } {
  const token = async () => (await options.token?.()) ?? null;
  const ask = options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request));
  const connection = observable<Connection>({ state: "connecting", error: null });
  let socket: Socket | undefined;
  const request: Transport["query"] = async (operation, variables) =>
    post(ask, address(options), await token(), operation, variables);
  return {
    query: request,
    mutate: request,
    subscribe(operation, variables, sink) {
      socket ??= openSocket(address(options), token, connection, options.webSocket);
      return subscribe(socket.client, operation, variables, sink);
    },
    connection,
    dispose: () => socket?.dispose(),
  };
}

function address({ url = "/graphql" }: TransportOptions): string {
  return new URL(url, globalThis.location?.href).href;
}

interface Socket {
  client: Client;
  dispose(): void;
}

type Shown = ReturnType<typeof observable<Connection>>;

function openSocket(
  url: string,
  token: () => Promise<string | null>,
  connection: Shown,
  webSocket: unknown,
): Socket {
  let unanswered: ReturnType<typeof setTimeout> | undefined;
  const client = createClient({
    url: url.replace(/^http/, "ws"),
    connectionParams: async () => {
      const value = await token();
      return value === null ? {} : { authorization: `Bearer ${value}` };
    },
    retryAttempts: Number.POSITIVE_INFINITY,
    // A browser tells of a refused connection by an event that is no closing.
    shouldRetry: () => true,
    retryWait: (tries) => untilOnlineOr(backoff(tries)),
    keepAlive: PING_MS,
    lazyCloseTimeout: LINGER_MS,
    ...(webSocket === undefined ? {} : { webSocketImpl: webSocket }),
    on: {
      connected: () => connection.set({ state: "live", error: null }),
      closed: (event) => {
        clearTimeout(unanswered);
        connection.set(lost(event));
      },
      // The server does not ping: a connection that died without a word is found by asking.
      ping: (received) => {
        if (!received) unanswered = setTimeout(() => client.terminate(), PONG_MS);
      },
      pong: (received) => {
        if (received) clearTimeout(unanswered);
      },
    },
  });
  const offline = () => connection.set({ state: "offline", error: closing(undefined) });
  // What the network's loss has left of the connection is not waited for.
  const online = () => client.terminate();
  globalThis.addEventListener?.("offline", offline);
  globalThis.addEventListener?.("online", online);
  return {
    client,
    dispose() {
      globalThis.removeEventListener?.("offline", offline);
      globalThis.removeEventListener?.("online", online);
      void client.dispose();
    },
  };
}

function lost(event: unknown): Connection {
  const code = codeOf(event);
  if (code === 1000) return { state: "connecting", error: null }; // closed by us: nobody follows anything
  const offline = globalThis.navigator?.onLine === false;
  return { state: offline ? "offline" : "reconnecting", error: closing(code) };
}

function closing(code: number | undefined): Failure {
  if (code === FORBIDDEN)
    return failureOf({ code: "UNAUTHENTICATED", message: "The token is wrong or has expired." });
  return failureOf({ code: "NETWORK", message: "The connection was lost." });
}

function codeOf(event: unknown): number | undefined {
  if (typeof event !== "object" || event === null || !("code" in event)) return undefined;
  return typeof event.code === "number" ? event.code : undefined;
}

/** Waits, but no longer than until the browser says that there is a network again. */
function untilOnlineOr(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      globalThis.removeEventListener?.("online", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    globalThis.addEventListener?.("online", done);
  });
}

function subscribe<Result, Variables>(
  client: Client,
  operation: Operation<Result, Variables>,
  variables: () => Variables,
  sink: Sink<Result>,
): () => void {
  let left = false;
  const told = (tell: () => void) => {
    if (!left) tell();
  };
  const payload = {
    query: operation.text,
    // graphql-ws writes the payload out each time it asks again, so what stands here is as it is then.
    get variables() {
      queueMicrotask(() => told(() => sink.opened?.()));
      return variables() as Record<string, unknown>;
    },
  };
  const leave = client.subscribe(payload, {
    next: (answer) =>
      told(() => {
        const error = errorOf(answer as Answer);
        if (error === null) return sink.next(answer.data as Result);
        left = true;
        leave();
        sink.error(error);
      }),
    error: (error) => told(() => sink.error(refused(error))),
    complete: () => told(() => sink.complete()),
  });
  return () => {
    left = true;
    leave();
  };
}

function refused(error: unknown): TransportError {
  if (Array.isArray(error) && error.length > 0) return refusal(error[0]);
  const code = codeOf(error);
  if (code === undefined) return asTransportError(error);
  return new TransportError("NETWORK", `The connection was closed: ${code}.`);
}

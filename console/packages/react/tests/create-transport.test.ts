import { describe, expect, test, vi } from "vitest";
import { backoff } from "../src/backoff.js";
import { MARK } from "../src/documents.js";
import { createTransport, TransportError } from "../src/store.js";

const url = "http://127.0.0.1/graphql";

/** A transport whose server answers so. */
function answering(
  body: unknown,
  init: ResponseInit = {},
  token: () => string | null = () => null,
) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const fetch = vi.fn(
    async (..._: Parameters<typeof globalThis.fetch>) => new Response(text, init),
  );
  // Nothing is subscribed to here; Node 20 has no WebSocket that the client could find.
  const webSocket = Object.assign(() => {}, { CLOSED: 3, CLOSING: 2, CONNECTING: 0, OPEN: 1 });
  return { fetch, transport: createTransport({ url, fetch, token, webSocket }) };
}

const mark = { id: "run_1" };

describe("a request", () => {
  test("goes by POST with the token as it is then", async () => {
    let tokens = 0;
    const { fetch, transport } = answering(
      { data: { run: { steps: 1 } } },
      {},
      () => `t${++tokens}`,
    );
    expect(await transport.query(MARK, mark)).toEqual({ run: { steps: 1 } });
    await transport.query(MARK, mark);
    const [first, second] = fetch.mock.calls.map(
      ([, init]) => init?.headers as Record<string, string>,
    );
    expect([first?.authorization, second?.authorization]).toEqual(["Bearer t1", "Bearer t2"]);
    const body = JSON.parse(String(fetch.mock.calls[0]?.[1]?.body));
    expect(body).toEqual({ query: MARK.text, variables: mark });
  });

  test.each([
    [
      "a top-level error",
      { errors: [{ message: "no", extensions: { code: "FORBIDDEN" } }] },
      200,
      "FORBIDDEN",
      false,
    ],
    [
      "an unavailable database",
      { errors: [{ message: "no", extensions: { code: "UNAVAILABLE" } }] },
      200,
      "UNAVAILABLE",
      true,
    ],
    ["a refused token", "", 401, "UNAUTHENTICATED", false],
    ["a proxy's page", "<h1>Bad gateway</h1>", 502, "NETWORK", true],
  ])("tells %s by its code", async (_, body, status, code, retryable) => {
    const { transport } = answering(body, { status });
    const error = await transport.query(MARK, mark).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TransportError);
    expect(error).toMatchObject({ code, retryable });
  });

  test("that reaches nobody is NETWORK", async () => {
    const { fetch, transport } = answering({});
    fetch.mockRejectedValue(new TypeError("fetch failed"));
    await expect(transport.query(MARK, mark)).rejects.toMatchObject({ code: "NETWORK" });
  });
});

test("pauses between tries double up to half a minute, and are spread", () => {
  expect([0, 1, 2, 3].map((tries) => backoff(tries, 1))).toEqual([250, 500, 1_000, 2_000]);
  expect([backoff(50, 1), backoff(0, 0)]).toEqual([30_000, 125]);
});

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, afterEach, before, test } from "node:test";
import { startServer } from "./support/server.mjs";

// The library as it is built, without React, against a real server: what it shows is what is stored.

const LIBRARY = new URL("../../console/packages/react/", import.meta.url);
const { createApprovalsStore, createRunStore, createRunsStore, createTransport } = await import(
  new URL("dist/store.js", LIBRARY).href
);
const { WebSocket } = createRequire(LIBRARY)("ws");

let server;
let transport;
const sockets = [];
const stores = [];

class Socket extends WebSocket {
  constructor(...given) {
    super(...given);
    sockets.push(this);
  }
}

before(async () => {
  server = await startServer();
  transport = createTransport({ url: `${server.url}/graphql`, webSocket: Socket });
});

afterEach(() => {
  for (const store of stores.splice(0)) store.dispose();
});

after(async () => {
  transport?.dispose();
  await server?.close();
});

/** A store that is watched, with all that it has shown. */
function watched(store) {
  const shown = [store.getSnapshot()];
  store.subscribe(() => shown.push(store.getSnapshot()));
  stores.push(store);
  const until = (holds) =>
    new Promise((resolve) => {
      const look = () => {
        const view = store.getSnapshot();
        if (!holds(view)) return;
        leave();
        resolve(view);
      };
      const leave = store.subscribe(look);
      look();
    });
  return { store, shown, until };
}

const run = (options) => watched(createRunStore({ transport, throttleMs: 0, ...options }));
const textOf = ({ partial }) => (partial?.blocks ?? []).map(({ text }) => text).join("");

/** Whether a turn has ended and its last message has come: status and messages come by different subscriptions. */
const ended = ({ status, messages, partial, queue }) =>
  status === "completed" && messages.at(-1)?.stopReason === "end_turn" && partial === null && queue.length === 0;

/** No text is shown twice: a partial answer never stands beside the message that it became. */
function nothingIsDoubled(shown) {
  for (const view of shown) {
    const text = textOf(view);
    if (text.length > 20) assert.equal(view.messages.some((message) => message.text.startsWith(text)), false, text);
  }
}

/** What is shown in the end is what the server has. */
async function nothingIsLost(view) {
  const { messages } = await run({ runId: view.runId }).until(({ isHydrating }) => !isHydrating);
  assert.deepEqual(view.messages, messages);
  assert.equal(view.partial, null);
  assert.deepEqual(view.queue, []);
}

test("a run is started and shown to its end, text and calls", async () => {
  const { store, shown, until } = run({ agent: "calculator" });
  const { runId, error } = await store.start("6 * 7");
  assert.equal(error, null);
  const view = await until(ended);
  assert.equal(view.runId, runId);
  assert.match(view.messages.at(-1).text, /calculate says: 42$/);
  assert.deepEqual(view.toolCalls.map(({ name, state }) => [name, state]), [["calculate", "SUCCEEDED"]]);
  assert.ok(shown.some((state) => textOf(state) !== ""), "text was shown while it was written");
  assert.deepEqual([...new Set(shown.map(({ status }) => status))].at(-1), "completed");
  nothingIsDoubled(shown);
  await nothingIsLost(view);
});

test("a connection that is lost in the middle of the text loses none of it and doubles none", async () => {
  const { store, shown, until } = run({ agent: "calculator" });
  await store.start("Say what you are, and what 1 + 1 is");
  for (const length of [1, 40, 80]) {
    await until((view) => textOf(view).length >= length || view.status === "completed");
    for (const socket of sockets) socket.terminate();
  }
  const view = await until(ended);
  assert.ok(shown.some(({ connection }) => connection.state === "reconnecting"));
  nothingIsDoubled(shown);
  await nothingIsLost(view);
});

test("whoever comes in the middle, at whatever moment, sees all of it and nothing twice", async () => {
  const { store, until } = run({ agent: "slowpoke" });
  const { runId } = await store.start("Count slowly to 2");
  const late = [];
  for (let moment = 0; moment < 12; moment += 1) {
    late.push(run({ runId }));
    await new Promise((resolve) => setTimeout(resolve, 120));
  }
  const view = await until(ended);
  for (const one of late) {
    const seen = await one.until(ended);
    assert.deepEqual([seen.messages, seen.toolCalls[0].state], [view.messages, "SUCCEEDED"]);
    nothingIsDoubled(one.shown);
  }
});

test("an input that interrupts is read at once, and what was shown before it is kept", async () => {
  const { store, shown, until } = run({ agent: "slowpoke" });
  await store.start("Count slowly to 100");
  await until(({ toolCalls }) => toolCalls.some(({ progress }) => progress !== null));
  await store.steer("Say it in French", { mode: "INTERRUPT" });
  const view = await until(ended);
  assert.ok(view.messages.some(({ role, text }) => role === "USER" && text.includes("Say it in French")));
  nothingIsDoubled(shown);
  await nothingIsLost(view);
});

test("an input to a run at work waits, is taken back, waits again and is folded in", async () => {
  const { store, shown, until } = run({ agent: "slowpoke" });
  await store.start("Count slowly to 3");
  await until(({ toolCalls }) => toolCalls.some(({ progress }) => progress !== null));
  const first = await store.steer("Never mind");
  assert.equal(first.queued, true);
  assert.deepEqual(await store.withdraw(first.inputId), { withdrawn: true, error: null });
  await store.steer("Then say how it went");
  const view = await until(ended);
  const said = view.messages.filter(({ role }) => role === "USER").map(({ text }) => text);
  assert.ok(said.some((text) => text.includes("Then say how it went")));
  assert.ok(!said.some((text) => text.includes("Never mind")));
  const states = shown.flatMap(({ queue }) => queue.map(({ text, state }) => `${text}: ${state}`));
  for (const state of ["sending", "queued"]) assert.ok(states.includes(`Then say how it went: ${state}`), state);
  nothingIsDoubled(shown);
  await nothingIsLost(view);
});

test("a run is stopped, says so until it has, and goes on with a retry", async () => {
  const { store, shown, until } = run({ agent: "slowpoke" });
  await store.start("Count slowly to 200");
  await until(({ toolCalls }) => toolCalls.some(({ progress }) => progress !== null));
  await store.cancel("enough");
  const view = await until(({ status }) => status === "cancelled");
  assert.ok(shown.some(({ status }) => status === "cancelling"));
  await until(({ toolCalls }) => toolCalls.some(({ state }) => state === "SUCCEEDED" || state === "CANCELLED"));
  assert.equal(view.finish, "ABORTED");
  assert.deepEqual(await store.retry(), { error: null });
  await until(({ status }) => status === "completed");
});

test("what a run below waits for is approved on the run above, and denied in the list of all that waits", async () => {
  const { store, until } = run({ agent: "frontdesk" });
  await store.start("Ask desk to refund 120 euros of order A-1042");
  const { approvals } = await until(({ status, approvals }) => status === "waiting" && approvals.length === 1);
  assert.notEqual(approvals[0].runId, store.getSnapshot().runId);
  assert.deepEqual(await store.approve(approvals[0].id, { input: { order: "A-1042", amount: 110 } }), { error: null });
  const view = await until(ended);
  assert.match(view.messages.at(-1).text, /Refunded 110/);
  assert.deepEqual(view.subruns.map(({ agent, status }) => [agent, status]), [["desk", "COMPLETED"]]);

  const inbox = watched(createApprovalsStore({ transport }));
  const other = run({ agent: "desk" });
  await other.store.start("Refund 130 euros of order A-1042");
  const waiting = await inbox.until((list) => list.approvals.some(({ input }) => input.amount === 130));
  const { id } = waiting.approvals.find(({ input }) => input.amount === 130);
  assert.deepEqual(await inbox.store.deny(id, { reason: "too much" }), { error: null });
  await inbox.until((list) => !list.approvals.some((call) => call.id === id));
  const denied = await other.until(({ toolCalls }) => toolCalls.some(({ state }) => state === "DENIED"));
  assert.equal(denied.toolCalls.find(({ state }) => state === "DENIED").reason, "too much");
});

test("the list of runs has each run as it is begun and as it changes", async () => {
  const list = watched(createRunsStore({ transport, filter: { agent: "calculator" } }));
  await list.until(({ isLoading }) => !isLoading);
  const { store } = run({ agent: "calculator" });
  const { runId } = await store.start("2 + 2");
  await list.until(({ runs }) => runs[0]?.id === runId);
  await list.until(({ runs }) => runs[0]?.id === runId && runs[0].status === "COMPLETED");
});

test("a server that is killed and started again is found again, and nothing of the run is missing", async () => {
  const { store, shown, until } = run({ agent: "slowpoke" });
  await store.start("Count slowly to 12");
  await until(({ toolCalls }) => toolCalls.some(({ progress }) => progress !== null));
  await server.crash();
  const view = await until(ended);
  nothingIsDoubled(shown);
  await nothingIsLost(view);
});

test("a run that is not there says so", async () => {
  const { until } = run({ runId: "run_00000000000000000000000000" });
  const view = await until(({ error }) => error !== null);
  assert.equal(view.error.code, "RUN_NOT_FOUND");
  assert.equal(view.isHydrating, false);
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launchBrowser, openPage } from "./support/browser.mjs";
import { fill, openTab, opened, response, run } from "./support/graphiql.mjs";
import { startServer } from "./support/server.mjs";

let server;
let browser;

before(async () => {
  server = await startServer();
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

async function visit(t, path, options) {
  const visited = await openPage(browser, options);
  t.after(() => visited.context.close());
  await visited.page.goto(server.url + path);
  await opened(visited.page);
  return visited;
}

async function startRun(page, input) {
  await openTab(page, "StartRun");
  if (input) {
    const { agent, input: text } = input;
    await fill(page, "query", `mutation StartRun { startRun(input: { agent: "${agent}", input: "${text}" }) { run { id } } }`);
  }
  await run(page);
  const answer = await response(page, /"id": "run_\w+"/);
  return /"id": "(run_\w+)"/.exec(answer)[1];
}

async function approve(t, amount) {
  const staff = await visit(t, "/graphql");
  await openTab(staff.page, "Approvals");
  await run(staff.page);
  const waiting = await response(staff.page, /"id": "call_\w+"/);
  assert.match(waiting, new RegExp(`"amount": ${amount}`));
  const [callId, runId] = [/"id": "(call_\w+)"/, /"runId": "(run_\w+)"/].map((wanted) => wanted.exec(waiting)[1]);
  await openTab(staff.page, "Decide");
  await fill(staff.page, "variables", JSON.stringify({ runId, callId }));
  await run(staff.page);
  await response(staff.page, /"status": "RUNNING"/);
  return staff;
}

for (const path of ["/graphql", "/console/graphiql"]) {
  test(`${path} shows a browser GraphiQL, and nothing of it comes from another host or breaks a rule of the page`, async (t) => {
    const { page, problems, requests } = await visit(t, path);
    await startRun(page);
    assert.deepEqual(problems, []);
    const strangers = requests.filter((url) => !url.startsWith("data:") && new URL(url).host !== new URL(server.url).host);
    assert.deepEqual(strangers, []);
  });
}

test("a newcomer starts a run and sees its events arrive until its result", async (t) => {
  const { page, problems } = await visit(t, "/graphql");
  const runId = await startRun(page);
  await openTab(page, "WatchRun");
  await fill(page, "variables", JSON.stringify({ runId }));
  await run(page);
  const shown = await response(page, /"__typename": "RunResult"/);
  assert.match(shown, /"status": "COMPLETED"/);
  assert.deepEqual(problems, []);
});

test("a refund above a hundred waits until it is approved, and then happens", async (t) => {
  const { page, problems } = await visit(t, "/graphql");
  const runId = await startRun(page, { agent: "desk", input: "Refund 110 euros of order A-1042" });
  await openTab(page, "WatchRun");
  await fill(page, "variables", JSON.stringify({ runId }));
  await run(page);
  await response(page, /"finish": "APPROVAL"/);

  const staff = await approve(t, 110);

  const shown = await response(page, /"status": "COMPLETED"/);
  assert.match(shown, /Refunded 110/);
  if (process.env.STEERSMAN_E2E_SHOT) await page.screenshot({ path: process.env.STEERSMAN_E2E_SHOT });
  assert.deepEqual([...problems, ...staff.problems], []);
});

test("a refund that another agent was handed waits on the run above it, and both go on once it is approved", async (t) => {
  const { page, problems } = await visit(t, "/graphql");
  const runId = await startRun(page, { agent: "frontdesk", input: "Ask desk to refund 120 euros of order A-1042" });
  await openTab(page, "WatchRun");
  await fill(page, "variables", JSON.stringify({ runId }));
  await run(page);
  const before = await response(page, /"finish": "APPROVAL"/);
  assert.match(before, /"__typename": "SubagentStarted"/);
  const staff = await approve(t, 120);
  const shown = await response(page, /"status": "COMPLETED"[^]*"finish": "STOP"/);
  assert.match(shown, /Refunded 120/);
  if (process.env.STEERSMAN_E2E_SHOT_OF_TREE) await page.screenshot({ path: process.env.STEERSMAN_E2E_SHOT_OF_TREE });
  assert.deepEqual([...problems, ...staff.problems], []);
});

test("a client that offers tools is connected while a window listens for its calls", async (t) => {
  const listening = await visit(t, "/graphql");
  const asking = await visit(t, "/graphql");
  await openTab(listening.page, "Offer");
  await run(listening.page);
  const offered = await response(listening.page, /"id": "rmt_\w+"/);
  assert.match(offered, /"connected": false/);
  const remoteId = /"id": "(rmt_\w+)"/.exec(offered)[1];
  await openTab(listening.page, "RemoteCalls");
  await fill(listening.page, "variables", JSON.stringify({ remoteId }));
  const opening = listening.page.waitForEvent("websocket");
  await run(listening.page);
  await opening;

  await openTab(asking.page, "Offer");
  await fill(asking.page, "query", "query Remotes { remotes { nodes { id connected } } }");
  await run(asking.page);
  while (!/"connected": true/.test(await response(asking.page, /"connected": \w+/))) await run(asking.page);
  await openTab(asking.page, "AnswerRemoteCall");
  await fill(asking.page, "variables", JSON.stringify({ callId: "rcl_00000000000000000000000000", result: "late" }));
  await run(asking.page);
  const refused = await response(asking.page, /"accepted": false/);
  assert.match(refused, /"code": "NOT_FOUND"/);
  assert.deepEqual([...listening.problems, ...asking.problems], []);
});

test("a newcomer opens a chat with an agent, posts in it, and sees the answer", async (t) => {
  const { page, problems } = await visit(t, "/graphql");
  await openTab(page, "StartRun");
  await fill(page, "query", 'mutation StartRun { createAgent(input: { kind: "expert", name: "Ada" }) { agent { id } } }');
  await run(page);
  const agent = /"id": "(agt_\w+)"/.exec(await response(page, /"id": "agt_\w+"/))[1];
  await openTab(page, "CreateChat");
  await fill(page, "variables", JSON.stringify({ agents: [agent], users: [] }));
  await run(page);
  const threadId = /"id": "(thr_\w+)"/.exec(await response(page, /"id": "thr_\w+"/))[1];

  await openTab(page, "PostMessage");
  await fill(page, "variables", JSON.stringify({ threadId, text: "Hello, all." }));
  await run(page);
  await response(page, /"seq": 1/);

  await openTab(page, "ChatMessages");
  await fill(page, "variables", JSON.stringify({ threadId, afterSeq: 1 }));
  await run(page);
  assert.match(await response(page, /"status": "DONE"/), /"name": "Ada"/);
  assert.deepEqual(problems, []);
});

test("the newest event alone is shown where one has chosen so", async (t) => {
  const { page } = await visit(t, "/graphql");
  const runId = await startRun(page);
  await page.getByRole("button", { name: "Subscriptions: show the newest event alone" }).click();
  await openTab(page, "WatchRun");
  await fill(page, "variables", JSON.stringify({ runId }));
  await run(page);
  const shown = await response(page, /"__typename": "RunResult"/);
  assert.doesNotMatch(shown, /"events"/);
});

test("a subscription is left at once by the stop button, and its socket closed", async (t) => {
  const { page } = await visit(t, "/graphql");
  const runId = await startRun(page);
  await openTab(page, "WatchRun");
  await fill(page, "query", "subscription Row($runId: ID!) { run(id: $runId) { id status } }");
  await fill(page, "variables", JSON.stringify({ runId }));
  const opening = page.waitForEvent("websocket");
  await run(page);
  const socket = await opening;
  await response(page, /"id": "run_\w+"/);
  const closing = socket.waitForEvent("close");
  await page.getByRole("button", { name: /Stop query/ }).click();
  await closing;
});

test("a header typed in the headers pane goes with a query and with the WebSocket's connection_init", async (t) => {
  const { page, sent } = await visit(t, "/graphql");
  const headers = JSON.stringify({ Authorization: "Bearer typed-by-hand" });

  await fill(page, "headers", headers);
  const asking = page.waitForRequest((request) => request.method() === "POST");
  await run(page);
  assert.equal((await asking).headers().authorization, "Bearer typed-by-hand");

  await openTab(page, "WatchRun");
  await fill(page, "headers", headers);
  const opening = page.waitForEvent("websocket");
  await run(page);
  const socket = await opening;
  if (sent.length === 0) await socket.waitForEvent("framesent");
  assert.deepEqual(sent[0], { type: "connection_init", payload: { authorization: "Bearer typed-by-hand" } });
});

test("a run is watched in one window while it is steered and stopped from another", async (t) => {
  const watching = await visit(t, "/graphql");
  const steering = await visit(t, "/graphql");
  const runId = await startRun(watching.page, { agent: "slowpoke", input: "Count slowly to 60." });
  await openTab(watching.page, "WatchRun");
  await fill(watching.page, "variables", JSON.stringify({ runId }));
  await run(watching.page);
  await response(watching.page, /"__typename": "ToolCallProgress"/);

  await openTab(steering.page, "SteerRun");
  await fill(steering.page, "variables", JSON.stringify({ runId, input: "Say it in French.", mode: "QUEUE" }));
  await run(steering.page);
  await response(steering.page, /"queued": true/);
  await openTab(steering.page, "CancelRun");
  await fill(steering.page, "variables", JSON.stringify({ runId }));
  await run(steering.page);
  await response(steering.page, /"cancelRun"/);

  const shown = await response(watching.page, /"__typename": "RunResult"/);
  assert.match(shown, /"status": "CANCELLED"/);
});

test("after the server was killed and started again, a run goes on and all that was said is there", async (t) => {
  const { page } = await visit(t, "/graphql");
  const runId = await startRun(page, { agent: "slowpoke", input: "Count slowly to 60." });
  await openTab(page, "WatchRun");
  await fill(page, "variables", JSON.stringify({ runId }));
  await run(page);
  await response(page, /"__typename": "ToolCallProgress"/);
  await server.crash();
  await response(page, /The connection was closed/);

  await run(page);
  const shown = await response(page, /"__typename": "RunResult"/);
  assert.match(shown, /"status": "COMPLETED"/);
  await openTab(page, "Runs");
  await run(page);
  await response(page, /Count slowly to 60/);
});

test("a connection that the server closes is said to be so", async (t) => {
  const { page } = await visit(t, "/graphql");
  await openTab(page, "WatchRun");
  await fill(page, "headers", JSON.stringify({ Authorization: "Bearer not-a-token" }));
  await run(page);
  await response(page, /The connection was closed: 44\d\d/);
});

for (const colorScheme of ["light", "dark"]) {
  test(`the page follows a ${colorScheme} system`, async (t) => {
    const { page } = await visit(t, "/graphql", { colorScheme });
    const background = await page.locator(".graphiql-container").evaluate((element) => getComputedStyle(element).backgroundColor);
    const [red] = background.match(/\d+/g).map(Number);
    assert.equal(red > 128 ? "light" : "dark", colorScheme);
  });
}

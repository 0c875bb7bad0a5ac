import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launchBrowser, openPage } from "./support/browser.mjs";
import { fill, openTab, opened, response, run } from "./support/graphiql.mjs";
import { freePort, startServer } from "./support/server.mjs";

// Agents as data, by somebody who has GraphiQL alone: no code, no deployment, no second tool.

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON = process.env.STEERSMAN_E2E_PYTHON ?? join(ROOT, ".venv/bin/python");

let browser;
let folder;
let server;
let mcp;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "steersman-mcp-"));
  mcp = await startMcp();
  server = await startServer({ STEERSMAN_REMOTES_PRIVATE: "on" });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
  mcp?.child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** An MCP server of the official package, in a process of its own. */
async function startMcp() {
  const port = await freePort();
  const command = ["-m", "tests.support.mcp_server", join(folder, "notes.txt"), "http", String(port)];
  const child = spawn(PYTHON, command, { cwd: ROOT, stdio: "ignore" });
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`the MCP server ended with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { child, url: `http://127.0.0.1:${port}/mcp` };
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

async function visit(t) {
  const visited = await openPage(browser);
  t.after(() => visited.context.close());
  await visited.page.goto(`${server.url}/graphql`);
  await opened(visited.page);
  await openTab(visited.page, "StartRun");
  return visited.page;
}

/** Writes an operation, runs it, and gives what the response pane shows once it has what is wanted. */
async function ask(page, query, wanted) {
  await fill(page, "query", query);
  await run(page);
  return response(page, wanted);
}

/** What a query answers, without the editor, which shows no more than fits its pane. */
async function read(query) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`${server.url}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  return (await answer.json()).data;
}

const idIn = (text, prefix) => new RegExp(`"id": "(${prefix}_\\w+)"`).exec(text)[1];

test("an expert with tools and a remote answers in a chat, is asked once, and is given a schedule", async (t) => {
  const page = await visit(t);
  const made = await ask(
    page,
    `mutation A { createAgent(input: { kind: "expert", name: "Ada", handle: "ada",
       config: { system_prompt: "You count." } }) { agent { id } errors { message } } }`,
    /"id": "agt_\w+"/,
  );
  const agent = idIn(made, "agt");
  for (const key of ["sums", "totals"])
    await ask(
      page,
      `mutation ${key} { setResource(input: { agentId: "${agent}", key: "${key}", kind: "tools",
         value: { type: "calculator" } }) { agent { resources { nodes { key } } } errors { message } } }`,
      new RegExp(`"key": "${key}"`),
    );
  const registered = await ask(
    page,
    `mutation R { registerRemote(input: { name: "desk", kind: MCP, url: "${mcp.url}" }) {
       remote { id connected tools { name } } errors { message } } }`,
    /"name": "add"/,
  );
  const remote = idIn(registered, "rmt");
  const chat = await ask(
    page,
    `mutation C { createChat(input: { title: "Accounts", agents: ["${agent}"] }) { thread { id } errors { message } } }`,
    /"id": "thr_\w+"/,
  );
  const thread = idIn(chat, "thr");
  await ask(
    page,
    `mutation L { setThreadResource(input: { threadId: "${thread}", key: "desk", kind: "remote",
       value: { remoteId: "${remote}" } }) { thread { resources { totalCount } } errors { message } } }`,
    /"totalCount": 1/,
  );

  const watching = await visit(t);
  await openTab(watching, "ChatMessages");
  await fill(watching, "variables", JSON.stringify({ threadId: thread, afterSeq: 1 }));
  await run(watching);
  const post = (text, seq) =>
    ask(
      page,
      `mutation P { postMessage(input: { threadId: "${thread}", text: "${text}" }) { message { seq } errors { message } } }`,
      new RegExp(`"seq": ${seq}`),
    );
  await post("Have the sums done: 6 * 7", 1);
  await response(watching, /"status": "STREAMING"/);
  const answer = await response(watching, /"seq": 2[^}]*[^{]*"status": "DONE"/);
  assert.match(answer, /42/);
  await ask(
    page,
    `mutation U { updateAgent(input: { id: "${agent}", config: { system_prompt: "You add." } }) {
       agent { config } errors { message } } }`,
    /You add\./,
  );
  await post("Let the desk add", 3);
  await response(watching, /"seq": 4[^}]*[^{]*"status": "DONE"/);
  const calls = await ask(
    page,
    `{ runs(first: 1) { nodes { status toolCalls { nodes { name state result } } } } }`,
    /"name": "desk_add"/,
  );
  assert.match(calls, /"state": "SUCCEEDED"/);

  const prompted = await ask(
    page,
    `mutation O { promptAgent(input: { agent: "ada", instruction: "What do these cost together?",
       input: { prices: [12, 30] } }) { run { id title } errors { message } } }`,
    /"id": "run_\w+"/,
  );
  assert.match(prompted, /What do these cost together\?/);
  await ask(
    page,
    `mutation S { createSchedule(input: { agent: "ada", input: "Sum the day up", cron: "0 18 * * *",
       timeZone: "Europe/Berlin" }) { schedule { id nextAt } errors { message } } }`,
    /"nextAt": "20/,
  );
  await ask(
    page,
    `mutation T { createAgent(input: { kind: "expert", name: "For now", temporary: true }) {
       agent { id temporary } errors { message } } }`,
    /"temporary": true/,
  );

  await server.crash();
  const whole = await read(`{
    agents { nodes { name config resources { nodes { key } } runs { totalCount } } }
    remotes { nodes { name } }
    schedules { nodes { cron } }
    chats { nodes { title threads { nodes { messages { nodes { seq status } } } } } }
  }`);
  assert.deepEqual(
    whole.agents.nodes.map((one) => [one.name, one.config.system_prompt, one.resources.nodes.map(({ key }) => key)]),
    [["Ada", "You add.", ["sums", "totals"]]],
  );
  assert.equal(whole.agents.nodes[0].runs.totalCount, 3);
  assert.deepEqual([whole.remotes.nodes[0].name, whole.schedules.nodes[0].cron], ["desk", "0 18 * * *"]);
  const accounts = whole.chats.nodes.find(({ title }) => title === "Accounts");
  assert.deepEqual(
    accounts.threads.nodes[0].messages.nodes.map(({ seq, status }) => [seq, status]),
    [1, 2, 3, 4].map((seq) => [seq, "DONE"]),
  );
});

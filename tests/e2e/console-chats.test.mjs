import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launchBrowser } from "./support/browser.mjs";
import { api, look, openConsole, times } from "./support/console.mjs";
import { startServer } from "./support/server.mjs";

let server;
let browser;

before(async () => {
  server = await startServer();
  browser = await launchBrowser();
  await agent("Ada", "ada");
  await agent("Bea", "bea");
});

after(async () => {
  await browser?.close();
  await server?.close();
});

async function agent(name, handle) {
  const create = `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } errors { message } } }`;
  const { createAgent } = await api(server, create, { input: { kind: "expert", name, handle } });
  assert.deepEqual(createAgent.errors, []);
}

async function visit(t, path) {
  const visited = await openConsole(browser, server, path);
  t.after(() => visited.context.close());
  return visited;
}

/** What was said in a thread, once nobody writes any more. */
async function told(threadId) {
  const query = `query ($id: ID!) { node(id: $id) { ... on Thread { messages(first: 100) { nodes { seq text status } } } } }`;
  for (;;) {
    const { nodes } = (await api(server, query, { id: threadId })).node.messages;
    if (nodes.length > 2 && nodes.every(({ status }) => status !== "STREAMING")) {
      await new Promise((resolve) => setTimeout(resolve, 2_000)); // agents may answer each other a moment later
      const { messages } = (await api(server, query, { id: threadId })).node;
      if (messages.nodes.length === nodes.length) return nodes;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const messages = (page) => page.getByRole("region", { name: "Messages" });
const field = (page) => page.getByRole("combobox", { name: "Message" });

test("people and agents talk: a chat is begun, an agent mentioned, its answer watched in two tabs, and stopped", async (t) => {
  const { page, problems } = await visit(t, "/chats");
  const others = [];

  await t.test("a chat is begun with agents", async () => {
    await look(page, "chats");
    await page.getByRole("button", { name: "New chat" }).first().click();
    const dialog = page.getByRole("dialog", { name: "New chat" });
    await dialog.getByLabel(/Title/).fill("Plans");
    await dialog.getByLabel("Ada").check();
    await dialog.getByLabel("Bea").check();
    await look(page, "chats-new");
    await dialog.getByRole("button", { name: "Begin" }).click();
    await page.getByRole("heading", { name: "Plans" }).waitFor();
  });

  await t.test("an agent is mentioned by the keyboard, and it alone answers", async () => {
    await field(page).fill("Hello @b");
    await page.getByRole("option", { name: /bea/ }).waitFor();
    await look(page, "chats-mention");
    await page.keyboard.press("Enter");
    assert.equal(await field(page).inputValue(), "Hello @bea ");
    await page.keyboard.type("who are you?");
    await page.keyboard.press("Enter");
    await messages(page).getByText("Bea", { exact: true }).waitFor();
    await messages(page).getByText("Writing").waitFor({ state: "detached" });
    assert.equal(await messages(page).getByText("Ada", { exact: true }).count(), 0);
  });

  await t.test("an answer grows in both tabs, through a reload, and stands there once", async () => {
    const path = new URL(page.url()).pathname.replace("/console", "");
    const thread = path.split("/").at(-1);
    const other = (await visit(t, path)).page;
    others.push(other);
    await field(page).fill("@ada what do you know of leases?");
    await page.keyboard.press("Enter");
    await messages(other).getByText("Writing").waitFor();
    await page.reload();
    const said = await told(thread);
    for (const tab of [page, other]) {
      await messages(tab).getByText("Writing").waitFor({ state: "detached" });
      const shown = await messages(tab).getByRole("article").allInnerTexts();
      assert.equal(shown.length, said.length);
      said.forEach(({ text }, place) => assert.equal(times(text, shown[place]), 1, text));
    }
  });

  await t.test("what agents write is stopped, and what they have said is kept", async () => {
    await field(page).fill("@ada and of fencing?");
    await page.keyboard.press("Enter");
    await messages(page).getByText("Writing").first().waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).first().click();
    await messages(page).getByText("Stopped", { exact: true }).first().waitFor();
    await look(page, "chats-thread");
  });

  await t.test("members come and go, and a remote is lent to the thread and taken away", async () => {
    const register = `mutation ($input: RegisterRemoteInput!) { registerRemote(input: $input) { remote { id } errors { message } } }`;
    const tools = [{ name: "read", description: "Read it.", inputSchema: { type: "object" } }];
    await api(server, register, { input: { name: "browser", kind: "CLIENT", tools } });
    await page.getByRole("button", { name: "Members" }).click();
    const drawer = page.getByRole("dialog", { name: "Members" });
    await drawer.getByRole("button", { name: "Remove Bea" }).click();
    await drawer.getByRole("button", { name: "Remove Bea" }).waitFor({ state: "detached" });
    await drawer.getByLabel("Add an agent").selectOption({ label: "Bea" });
    await drawer.getByRole("button", { name: "Remove Bea" }).waitFor();
    await drawer.getByLabel(/Add people/).fill("grace");
    await drawer.getByRole("button", { name: "Add", exact: true }).click();
    await drawer.getByText("grace").waitFor();
    await drawer.getByRole("button", { name: "Lend" }).click();
    await drawer.getByRole("button", { name: "Take away" }).waitFor();
    await look(page, "chats-members");
    await drawer.getByRole("button", { name: "Take away" }).click();
    await drawer.getByRole("button", { name: "Lend" }).waitFor();
    await page.keyboard.press("Escape");
  });

  await t.test("another thread of the same chat begins empty", async () => {
    await page.getByRole("button", { name: "Thread", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "New thread" });
    await dialog.getByLabel(/Title/).fill("Details");
    await dialog.getByRole("button", { name: "Begin" }).click();
    await messages(page).getByText("Nothing was said yet").waitFor();
    await page.getByLabel("Thread").selectOption({ index: 0 });
    await messages(page).getByText("Hello").first().waitFor();
  });

  await t.test("one leaves it, and it is said what becomes of it", async () => {
    await page.getByRole("button", { name: "Members" }).click();
    await page.getByRole("button", { name: "Leave the chat" }).click();
    await page.getByText("The others go on without you").waitFor();
    await page.getByRole("alertdialog").getByRole("button", { name: "Leave" }).click();
    await page.getByText("No chat is open").waitFor();
  });
  assert.deepEqual(problems, []);
});

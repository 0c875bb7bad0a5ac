import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launchBrowser } from "./support/browser.mjs";
import { begun, look, openConsole, settled, times } from "./support/console.mjs";
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

async function visit(t, runId, options) {
  const visited = await openConsole(browser, server, `/runs/${runId}`, options);
  t.after(() => visited.context.close());
  return visited.page;
}

const transcript = (page) => page.getByRole("region", { name: "Transcript" });
const partial = (page) => page.locator("[data-partial]");
const composer = (page) => page.getByRole("textbox", { name: /^Message to/ });
const status = (page, word) => page.locator("header").getByText(word, { exact: true }).waitFor();
const card = (page) => page.getByRole("region", { name: /wants to: Refund/ });

/** Fails unless every stored text stands on the page once, in words: no answer is lost, doubled or cut. */
async function holdsAll(page, runId) {
  const { messages } = await settled(server, runId, "COMPLETED", "FAILED", "CANCELLED");
  const told = messages.nodes.filter(({ text }) => text);
  const last = told.at(-1).text;
  await page.waitForFunction(
    ([end]) => document.querySelector("[aria-label=Transcript]").innerText.replace(/\s+/g, " ").includes(end),
    [last.trim().split(/\s+/).slice(-3).join(" ")],
  );
  const shown = await transcript(page).innerText();
  // What a person says may be repeated by the agent, so it is counted among what persons say.
  const asked = (await transcript(page).getByRole("article", { name: /^You/ }).allInnerTexts()).join("\n");
  for (const { role, text } of told) assert.equal(times(text, role === "USER" ? asked : shown), 1, text.slice(0, 80));
}

test("an answer is watched as it is written, also by those who come in the middle, and stands there once at its end", async (t) => {
  const runId = await begun(server, "researcher", "How does steering a run work?");
  const first = await visit(t, runId);
  await partial(first).first().waitFor();
  const second = await visit(t, runId);
  await first.reload();
  await partial(first).first().waitFor();
  await status(first, "Completed");
  await status(second, "Completed");
  await holdsAll(first, runId);
  await holdsAll(second, runId);
});

test("text goes on where it was when the server was killed in the middle of it", async (t) => {
  const runId = await begun(server, "researcher", "What makes an operation idempotent?");
  const page = await visit(t, runId);
  await partial(page).first().waitFor();
  await server.crash();
  await status(page, "Completed");
  await holdsAll(page, runId);
});

test("a slow network delays what is shown and loses nothing of it", async (t) => {
  const runId = await begun(server, "researcher", "How is a run cancelled?");
  const page = await visit(t, runId);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 400,
    downloadThroughput: 20_000,
    uploadThroughput: 10_000,
  });
  await page.reload();
  await status(page, "Completed");
  await holdsAll(page, runId);
});

test("a lost network is shown quietly, keeps the text, and is mended", async (t) => {
  const runId = await begun(server, "slowpoke", "Count slowly to 30.");
  const page = await visit(t, runId);
  await page.getByRole("progressbar").waitFor();
  const before = await transcript(page).innerText();
  await page.context().setOffline(true);
  await page.getByText(/Offline|Reconnecting/).waitFor();
  assert.ok((await transcript(page).innerText()).startsWith(before.slice(0, 40)));
  await page.context().setOffline(false);
  await page.getByText(/Offline|Reconnecting/).waitFor({ state: "detached" });
  await composer(page).fill("Are you there?");
  await page.keyboard.press("Control+Shift+Enter");
  await status(page, "Completed");
  await holdsAll(page, runId);
});

test("an interruption stops the answer under way and is read at once", async (t) => {
  const runId = await begun(server, "slowpoke", "Count slowly to 30.");
  const page = await visit(t, runId);
  await page.getByRole("progressbar").waitFor();
  await composer(page).fill("That is enough, thank you.");
  await page.getByRole("button", { name: "Interrupt" }).click();
  await transcript(page).getByText("That is enough, thank you.", { exact: true }).waitFor();
  await status(page, "Completed");
  const { toolCalls } = await settled(server, runId, "COMPLETED");
  assert.match(toolCalls.nodes[0].result, /^Stopped by request: counted to \d+ of 30/);
});

test("a queued message is taken back, and what was being written survives a reload", async (t) => {
  const runId = await begun(server, "slowpoke", "Count slowly to 30.");
  const page = await visit(t, runId);
  await page.getByRole("progressbar").waitFor();
  await composer(page).fill("Never mind.");
  await page.keyboard.press("Enter");
  const queue = page.getByRole("list", { name: "Queued messages" });
  await queue.getByRole("button", { name: "Withdraw" }).click();
  await queue.waitFor({ state: "detached" });
  await composer(page).fill("Half a thou");
  await page.reload();
  await composer(page).waitFor();
  assert.equal(await composer(page).inputValue(), "Half a thou");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  const { messages } = await settled(server, runId, "CANCELLED");
  assert.ok(!messages.nodes.some(({ text }) => text.includes("Never mind")));
});

test("a denial tells the agent why, and an approval may change the arguments, by keyboard too", async (t) => {
  const denied = await begun(server, "desk", "Refund 150 euros of order A-1042.");
  const page = await visit(t, denied);
  await card(page).getByRole("button", { name: "Deny…" }).click();
  await card(page).getByLabel(/Why not/).fill("Not this month.");
  await card(page).getByRole("button", { name: "Deny", exact: true }).click();
  await status(page, "Completed");
  const call = (run) => run.toolCalls.nodes.find(({ name }) => name === "refund");
  assert.deepEqual(
    [call(await settled(server, denied, "COMPLETED"))].map(({ state, reason }) => [state, reason]),
    [["DENIED", "Not this month."]],
  );

  const edited = await begun(server, "desk", "Refund 150 euros of order A-1042.");
  const other = await visit(t, edited);
  await card(other).getByRole("button", { name: "Edit" }).click();
  const amount = card(other).getByLabel("Amount");
  await amount.fill("much");
  await amount.press("Control+Enter");
  await card(other).getByText(/A number/).waitFor();
  assert.equal(await amount.inputValue(), "much");
  await amount.fill("20");
  await amount.press("Control+Enter");
  await status(other, "Completed");
  const { state, input } = call(await settled(server, edited, "COMPLETED"));
  assert.deepEqual([state, input], ["SUCCEEDED", { order: "A-1042", amount: 20 }]);
});

test("what a run below waits for is decided above it, and each leads to the other", async (t) => {
  const runId = await begun(server, "frontdesk", "I want 150 euros back for order A-1042.");
  const page = await visit(t, runId);
  await card(page).waitFor();
  await look(page, "run-below");
  await card(page).getByRole("button", { name: "Approve", exact: true }).click();
  await status(page, "Completed");
  await transcript(page).getByRole("link", { name: "Its own run" }).first().click();
  await page.getByRole("link", { name: "The run that asked for it" }).click();
  await page.waitForURL(new RegExp(`/runs/${runId}`));
});

test("a picture is pasted, sent with the message, and shown from there on", async (t) => {
  const runId = await begun(server, "calculator", "What is 2 + 2?");
  await settled(server, runId, "COMPLETED");
  const page = await visit(t, runId);
  await composer(page).fill("And what is this?");
  await composer(page).evaluate((field) => {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    const bytes = Uint8Array.from(atob(png), (letter) => letter.codePointAt(0));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], "dot.png", { type: "image/png" }));
    clipboardData.items.add(new File(["#"], "notes.md", { type: "text/markdown" }));
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
  });
  await page.getByText(/notes.md was left out/).waitFor();
  await page.getByRole("list", { name: "Attached files" }).getByText("dot.png").waitFor();
  await page.keyboard.press("Enter");
  const image = transcript(page).getByRole("img", { name: "Attached image" });
  await image.waitFor();
  await page.waitForFunction((element) => element.naturalWidth === 1, await image.elementHandle());
});

test("a run is forked from a message, and the copy says where it comes from", async (t) => {
  const runId = await begun(server, "calculator", "What is 3 to the power of 40?");
  await settled(server, runId, "COMPLETED");
  const page = await visit(t, runId);
  await transcript(page).getByRole("button", { name: "What to do with message 1" }).click();
  await page.getByRole("menuitem", { name: "Fork from here" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/What to say in the copy/).fill("And to the power of 41?");
  await look(page, "run-fork");
  await dialog.getByRole("button", { name: "Fork", exact: true }).click();
  await page.getByRole("link", { name: "Forked from message 1" }).waitFor();
  await status(page, "Completed");
  await transcript(page).getByText("And to the power of 41?", { exact: true }).waitFor();
});

test("the raw events stand in a drawer, and the keyboard gets there and back", async (t) => {
  const runId = await begun(server, "calculator", "What is 2 + 2?");
  await settled(server, runId, "COMPLETED");
  const page = await visit(t, runId);
  await transcript(page).focus();
  await page.keyboard.press("e");
  const drawer = page.getByRole("dialog", { name: "Events" });
  await drawer.getByText("RunResult").waitFor();
  await look(page, "run-events");
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await sheet.getByText("Show its events").waitFor();
  await look(page, "shortcuts");
});

test("a run that is not there says so", async (t) => {
  const page = await visit(t, "run_00000000000000000000000000");
  await page.getByText("There is no such run").waitFor();
});

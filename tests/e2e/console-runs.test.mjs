import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launchBrowser } from "./support/browser.mjs";
import { begun, look, openConsole, settled } from "./support/console.mjs";
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
  const visited = await openConsole(browser, server, path, options);
  t.after(() => visited.context.close());
  return visited;
}

const row = (page, title) => page.getByRole("row").filter({ hasText: title });

test("the list is live, narrowed by the address, and tells nothing yet from nothing that matches", async (t) => {
  const { page, problems } = await visit(t, "/");
  await page.getByText("Nothing has run yet").waitFor();
  const sum = await begun(server, "calculator", "What is 2 + 2?");
  await row(page, "What is 2 + 2?").getByText("Completed").waitFor();
  await begun(server, "desk", "Refund 150 euros of order A-1042.");
  await row(page, "Refund 150").getByText("Waiting").waitFor();
  await begun(server, "frontdesk", "I want 150 euros back for order A-1042.");
  await row(page, "I want 150").getByText("Waiting").waitFor();
  await look(page, "runs");

  await page.getByRole("button", { name: "Completed" }).click();
  await row(page, "Refund 150").first().waitFor({ state: "detached" });
  assert.match(page.url(), /status=completed/);
  await page.getByLabel("Search titles").fill("no such title");
  await page.getByText("Nothing matches").waitFor();
  await look(page, "runs-nothing-matches");
  await page.reload();
  await page.getByText("Nothing matches").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await row(page, "I want 150").waitFor();

  assert.equal(await page.getByRole("row").count(), 4);
  await page.getByRole("switch", { name: "Sub-runs" }).click();
  await page.getByLabel("Begun by another run").waitFor();

  await page.getByRole("button", { name: "Columns" }).click();
  const dialog = page.getByRole("dialog", { name: "Columns" });
  await dialog.getByRole("switch", { name: "Tokens" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("columnheader", { name: "Tokens" }).waitFor();
  await page.reload();
  await page.getByRole("columnheader", { name: "Tokens" }).waitFor();

  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByLabel("Begun to").fill("2020-01-01");
  await page.getByText("Nothing matches").waitFor();
  await look(page, "runs-more-filters");
  await page.getByLabel("Begun to").fill("");
  await page.getByLabel("Finish").selectOption("approval");
  await row(page, "What is 2 + 2?").waitFor({ state: "detached" });
  await page.getByLabel("Finish").selectOption("");
  await page.getByRole("combobox", { name: "Agent" }).selectOption("calculator");
  await row(page, "Refund 150").first().waitFor({ state: "detached" });
  await row(page, "What is 2 + 2?").waitFor();
  await page.getByRole("heading", { name: "Runs" }).press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`/runs/${sum}`));
  assert.deepEqual(problems, []);
});

test("a list that is frozen stands still, and says how much has changed", async (t) => {
  await begun(server, "calculator", "What is 3 + 3?");
  const { page } = await visit(t, "/");
  await row(page, "What is 3 + 3?").getByText("Completed").waitFor();
  await page.getByRole("button", { name: "Freeze" }).click();
  await begun(server, "calculator", "What is 4 + 4?");
  await page.getByRole("button", { name: /1 run has changed/ }).waitFor();
  assert.equal(await row(page, "What is 4 + 4?").count(), 0);
  await page.getByRole("button", { name: /1 run has changed/ }).click();
  await row(page, "What is 4 + 4?").waitFor();
});

test("a filter that is chosen while the list is frozen shows what fits it", async (t) => {
  const id = await begun(server, "calculator", "What is 5 + 5?");
  await settled(server, id, "COMPLETED");
  const { page } = await visit(t, "/");
  await row(page, "What is 5 + 5?").getByText("Completed").waitFor();
  await page.getByRole("button", { name: "Freeze" }).click();
  await page.getByRole("button", { name: "Failed", exact: true }).click();
  await page.getByText("Nothing matches").waitFor();
  assert.equal(await page.getByRole("button", { name: "Freeze" }).getAttribute("aria-pressed"), "false");
});

test("several runs are stopped at once, after they were counted", async (t) => {
  const done = await begun(server, "slowpoke", "Hello?");
  await settled(server, done, "COMPLETED");
  const ids = [];
  for (const steps of [40, 50, 60]) ids.push(await begun(server, "slowpoke", `Count slowly to ${steps}.`));
  const { page } = await visit(t, "/?agent=slowpoke");
  await row(page, "Count slowly to 60.").waitFor();
  await page.getByLabel("Choose Count slowly to 40.").check();
  await page.getByLabel("Choose Count slowly to 60.").click({ modifiers: ["Shift"] });
  await page.getByText("3 runs chosen").waitFor();
  await page.getByLabel("Choose all that are shown").check();
  await page.getByText("4 runs chosen").waitFor();
  await page.getByText("1 not at work").waitFor();
  await look(page, "runs-chosen");
  await page.getByRole("button", { name: "Stop 3 runs" }).click();
  const asks = page.getByRole("alertdialog", { name: "Stop 3 runs?" });
  await asks.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Stop 3 runs" }).click();
  await asks.getByRole("button", { name: "Stop 3 runs" }).click();
  for (const id of ids) await settled(server, id, "CANCELLED");
  for (const steps of [40, 50, 60]) await row(page, `Count slowly to ${steps}.`).getByText("Stopped").waitFor();
  assert.equal((await settled(server, done, "COMPLETED", "CANCELLED")).status, "COMPLETED");
});

test("a run is run again with changes: what it began with stands there, whatever else was being written", async (t) => {
  const first = await begun(server, "researcher", "What is a lease?");
  const { page, problems } = await visit(t, "/new?agent=researcher");
  const field = page.getByLabel("What researcher is to do");
  await field.fill("Half a thought");
  await page.goto(`${server.url}/console/new?from=${first}`);
  await field.waitFor();
  assert.equal(await field.inputValue(), "What is a lease?");
  await page.getByText("More options").click();
  await page.getByLabel("Title").fill("Fences");
  await page.getByLabel("Budget in USD").fill("much");
  await page.getByText("More options").click();
  await field.fill("What is a fence?");
  await field.press("Control+Enter");
  await page.getByText("An amount above 0").waitFor();
  assert.equal(await field.inputValue(), "What is a fence?");
  await look(page, "new-run-again");
  await page.getByLabel("Budget in USD").fill("");
  assert.ok(await page.getByLabel("Title").isVisible());
  await field.press("Control+Enter");
  await page.waitForURL(/\/runs\/run_/);
  await page.getByRole("heading", { name: "Fences" }).waitFor();

  await page.goto(`${server.url}/console/new`);
  const cards = page.getByRole("main").getByRole("listitem");
  await cards.first().waitFor();
  assert.match(await cards.first().innerText(), /Answers from a small library/); // the last one that was run
  await cards.first().getByRole("link").click();
  await field.waitFor();
  assert.equal(await field.inputValue(), "Half a thought");
  await page.goto(`${server.url}/console/new?from=run_of_nobody`);
  await page.getByText("The run that was to be run again is not there").waitFor();
  assert.deepEqual(problems, []);
});

test("the inbox has what waits for me, decides it by keys, and says so when nothing does", async (t) => {
  const runs = [];
  for (const amount of [150, 160]) runs.push(await begun(server, "desk", `Refund ${amount} euros of order A-1042.`));
  for (const id of runs) await settled(server, id, "WAITING");
  const { page, problems } = await visit(t, "/approvals");
  const of = (runId) => page.locator(`section[aria-label="Run ${runId}"]`);
  for (const id of runs) await of(id).getByText("Refund", { exact: true }).waitFor();
  await page.waitForFunction(() => /^\(\d+\) Approvals/.test(document.title));
  await look(page, "approvals");

  await of(runs[0]).getByRole("region").press("Control+Enter");
  await of(runs[0]).waitFor({ state: "detached" });
  await settled(server, runs[0], "COMPLETED");
  await page.waitForFunction(() => document.activeElement.matches("[data-approval]"));

  const card = of(runs[1]).getByRole("region");
  await card.getByRole("button", { name: "Edit" }).click();
  await card.getByLabel("Amount").fill("much");
  await card.getByText(/A number/).waitFor();
  await look(page, "approvals-editing");
  await card.getByLabel("Amount").fill("120");
  await card.getByLabel("Amount").press("Control+Enter");
  const edited = await settled(server, runs[1], "COMPLETED");
  assert.deepEqual(edited.toolCalls.nodes.find(({ name }) => name === "refund").input, { order: "A-1042", amount: 120 });

  const open = page.locator("[data-approval]");
  for (let left = await open.count(); left > 0; left -= 1) {
    const id = await open.first().getAttribute("data-approval");
    await open.first().getByRole("button", { name: "Deny…" }).click();
    await open.first().getByLabel(/Why not/).press("Control+Enter");
    await page.locator(`[data-approval="${id}"]`).waitFor({ state: "detached" });
  }
  await page.getByText("Nothing waits for you").waitFor();
  await page.waitForFunction(() => document.title === "Approvals · Steersman");
  await look(page, "approvals-none");
  assert.deepEqual(problems, []);
});

test("the dashboard shows how runs have gone, and is read by those who see no pictures", async (t) => {
  const { page, problems } = await visit(t, "/dashboard");
  await page.getByRole("cell", { name: "calculator" }).waitFor();
  await page.getByText(/Turns from .* Completed [1-9]/).waitFor({ state: "attached" });
  await look(page, "dashboard");
  await page.getByRole("button", { name: "Hour" }).click();
  assert.match(page.url(), /span=hour/);
  await page.getByRole("cell", { name: "calculator" }).waitFor();
  assert.deepEqual(problems, []);
});

test("the first page weighs less than 300 KB, GraphiQL apart, and comes compressed", async (t) => {
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.goto(`${server.url}/console/`);
  await page.getByRole("row").first().waitFor();
  await page.waitForLoadState("networkidle");
  t.diagnostic(`${Math.round(bytes / 1000)} KB`);
  assert.ok(bytes > 50_000 && bytes < 300_000, `${bytes} bytes`);
});

test("GraphiQL has its place in the console, and carries who is signed in", async (t) => {
  const { page, context } = await visit(t, "/");
  t.after(() => context.close());
  await page.getByRole("link", { name: "GraphiQL" }).click();
  await page.waitForURL(/\/console\/graphiql/);
  await page.locator(".graphiql-query-editor .view-lines").waitFor();
  await page.evaluate(() => localStorage.setItem("steersman:token", "not a token"));
  await page.reload();
  await page.getByText(/carry your token/).waitFor();
  const refused = page.waitForResponse((response) => response.url().endsWith("/graphql") && response.status() === 401);
  await page.getByRole("button", { name: /Execute query/ }).click();
  assert.equal((await refused).request().headers().authorization, "Bearer not a token");
  await page.evaluate(() => localStorage.removeItem("steersman:token"));
  await page.getByRole("link", { name: "Console" }).click();
  await page.waitForURL(/\/console\/$/);
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launchBrowser } from "./support/browser.mjs";
import { look, openConsole, settled } from "./support/console.mjs";
import { startServer } from "./support/server.mjs";

// Somebody who has never seen the product, and reads nothing but the page.

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

const idOf = (page) => /\/runs\/(run_\w+)/.exec(page.url())[1];

test("a stranger starts an agent, steers it, stops it, approves a call, and finds all of it after a restart", async (t) => {
  const { page, context, problems, requests } = await openConsole(browser, server);
  t.after(() => context.close());

  await t.test("an empty list says what to do, and shows the agents", async () => {
    await page.getByText("Nothing has run yet").waitFor();
    await look(page, "first-visit");
    await page.getByRole("link", { name: /slowpoke/ }).click();
  });

  await t.test("what one can ask stands there to be pressed", async () => {
    await page.getByText("Count slowly to 30.").waitFor();
    await look(page, "new-run");
    await page.getByRole("button", { name: "Count slowly to 30." }).click();
    await page.waitForURL(/\/runs\/run_/);
  });

  const slow = idOf(page);
  await t.test("what is said to an agent at work is queued until it reads it", async () => {
    await page.getByText("Running").first().waitFor();
    await page.getByRole("button", { name: /Count slowly/ }).waitFor();
    await page.getByRole("progressbar").waitFor();
    await page.getByLabel("Message to slowpoke").fill("Stop at ten.");
    await page.keyboard.press("Enter");
    await page.getByRole("list", { name: "Queued messages" }).getByText("Stop at ten.").waitFor();
    await look(page, "run-queued");
  });

  await t.test("a stop says that it stops until it has stopped", async () => {
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("What was shown is kept").waitFor();
    await look(page, "run-stopped");
    assert.equal((await settled(server, slow, "CANCELLED")).finish, "ABORTED");
  });

  await t.test("a call that waits is approved where it stands", async () => {
    await page.getByRole("link", { name: "New run" }).click();
    await page.getByRole("link", { name: /^D ?desk/ }).or(page.getByRole("link", { name: /Refunds orders/ })).first().click();
    await page.getByRole("button", { name: "Refund 150 euros of order A-1042." }).click();
    await page.getByRole("region", { name: /wants to: Refund/ }).waitFor();
    await look(page, "run-approval");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("Completed").first().waitFor();
    const run = await settled(server, idOf(page), "COMPLETED");
    assert.equal(run.toolCalls.nodes.find(({ name }) => name === "refund").state, "SUCCEEDED");
    await look(page, "run-completed");
  });

  await t.test("both stand in the list, also after the server was killed and started again", async () => {
    await server.crash();
    await page.goto(`${server.url}/console/`);
    await page.getByRole("link", { name: "Count slowly to 30." }).waitFor();
    await page.getByRole("link", { name: "Refund 150 euros of order A-1042." }).click();
    await page.getByRole("region", { name: "Transcript" }).getByText("Refund 150 euros of order A-1042.", { exact: true }).waitFor();
  });

  const expected = /WebSocket connection|Failed to load resource/; // the server was killed meanwhile
  assert.deepEqual(problems.filter((text) => !expected.test(text)), []);
  const strangers = requests.filter((url) => !/^(data|blob):/.test(url) && new URL(url).host !== new URL(server.url).host);
  assert.deepEqual(strangers, []);
});

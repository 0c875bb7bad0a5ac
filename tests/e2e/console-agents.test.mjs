import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launchBrowser } from "./support/browser.mjs";
import { api, look, openConsole } from "./support/console.mjs";
import { startServer } from "./support/server.mjs";

// Agents as data, by somebody who has the console alone.

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

async function visit(t, path) {
  const visited = await openConsole(browser, server, path);
  t.after(() => visited.context.close());
  return visited;
}

test("an agent is created, changed in place, configured, tried, extended, scheduled and deleted", async (t) => {
  const { page, problems } = await visit(t, "/agents");

  await t.test("it is created of a kind, and a name that is missing is asked for", async () => {
    await look(page, "agents");
    await page.getByRole("button", { name: "New agent", exact: true }).first().click();
    const dialog = page.getByRole("dialog", { name: "New agent" });
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText("What is it called?").waitFor();
    await dialog.getByLabel("Name", { exact: true }).fill("Ada");
    await dialog.getByLabel(/Handle/).fill("ada");
    await look(page, "agents-new");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Ada" }).waitFor();
  });

  await t.test("what it is called is edited where it stands, and a wrong handle is told there", async () => {
    await page.getByRole("button", { name: "Edit description" }).click();
    await page.getByRole("textbox", { name: "Description" }).fill("Answers in one sentence.");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Answers in one sentence.").waitFor();
    await page.getByRole("button", { name: "Edit handle" }).click();
    const handle = page.getByRole("textbox", { name: "Handle" });
    await handle.fill("Not A Handle");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").first().waitFor();
    assert.equal(await handle.inputValue(), "Not A Handle");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Edit handle" }).waitFor();
  });

  await t.test("a field of its configuration is set, checked, and left to its default again", async () => {
    await page.getByRole("tab", { name: "Configuration" }).click();
    await page.getByRole("switch", { name: "Set Max tokens" }).click();
    const field = page.getByLabel("Max tokens", { exact: true });
    await field.fill("-3");
    await page.getByText(/At least/).waitFor();
    await field.fill("500");
    await look(page, "agent-configuration");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    await page.reload();
    await page.getByLabel("Max tokens", { exact: true }).waitFor();
    assert.equal(await page.getByLabel("Max tokens", { exact: true }).inputValue(), "500");
    await page.getByRole("switch", { name: "Set Max tokens" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    const { agent } = await api(server, `{ agent(handle: "ada") { config } }`);
    assert.deepEqual(agent.config, {});
  });

  await t.test("it is asked in the prompt console, and what was asked stands there to be asked again", async () => {
    await page.getByRole("tab", { name: "Prompt" }).click();
    await page.getByLabel("Instruction (optional)").fill("Add these prices.");
    await page.getByLabel("Input (optional)").fill('{"prices": [12, 30]}');
    await page.keyboard.press("Control+Enter");
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByText(/You said|You asked/).waitFor();
    await answer.getByText("Completed").waitFor();
    await page.getByRole("button", { name: "Ask again: Add these prices." }).waitFor();
    await page.getByRole("region", { name: "Asked before" }).getByText("Completed").waitFor();
    await look(page, "agent-prompt");
  });

  await t.test("a tool with a mistake is refused where it stands, and nothing of it is lost", async () => {
    await page.getByRole("tab", { name: "Tools and documents" }).click();
    await page.getByRole("button", { name: "Add a tool" }).click();
    const dialog = page.getByRole("dialog", { name: "Tool" });
    await dialog.getByLabel("Type").selectOption("calculator");
    const entry = dialog.getByLabel("Entry");
    await entry.fill('{"type": "calculator", "config": ');
    await dialog.getByText(/This is not JSON/).waitFor();
    await entry.fill('{"type": "calculator", "config": {"colour": "red"}}');
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").first().waitFor();
    assert.match(await entry.inputValue(), /colour/);
    await look(page, "agent-tool-refused");
    await entry.fill('{"type": "calculator"}');
    await dialog.getByLabel("Name").fill("adder");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("adder", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Add a document" }).click();
    const document = page.getByRole("dialog", { name: "Document" });
    await document.getByLabel("Name").fill("prices");
    await document.getByLabel("Entry").fill('{"title": "Prices", "text": "Ink costs 12."}');
    await document.getByRole("button", { name: "Save" }).click();
    await page.getByText("Prices").first().waitFor();
    await look(page, "agent-tools");
  });

  await t.test("it is scheduled, and a time that is none is refused at its field", async () => {
    await page.getByRole("tab", { name: "Schedules" }).click();
    await page.getByRole("button", { name: "New schedule" }).click();
    const dialog = page.getByRole("dialog", { name: "New schedule" });
    await dialog.getByLabel("What to say").fill("Good morning.");
    await dialog.getByLabel("When").fill("whenever");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByRole("alert").first().waitFor();
    await dialog.getByLabel("When").fill("0 9 * * MON-FRI");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByText(/0 9 \* \* MON-FRI/).first().waitFor();
    await look(page, "agent-schedules");
    await page.getByRole("button", { name: /^Remove the schedule/ }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("No schedules").waitFor();
  });

  await t.test("it is deleted once that was confirmed", async () => {
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No agents yet").waitFor();
  });
  assert.deepEqual(problems, []);
});

test("remotes, webhooks, models and schedules have a place each, and say what they are while there are none", async (t) => {
  const { page, problems } = await visit(t, "/agents");
  for (const [tab, said] of [
    ["Schedules", "No schedules"],
    ["Remotes", "No remotes"],
    ["Webhooks", "No webhooks"],
  ]) {
    await page.getByRole("tab", { name: tab }).click();
    await page.getByText(said).waitFor();
  }
  await page.getByRole("tab", { name: "Models" }).click();
  await page.getByRole("cell", { name: "claude-sonnet-5-5" }).waitFor();
  await look(page, "agents-models");
  await page.getByRole("tab", { name: "Remotes" }).click();
  await page.getByRole("button", { name: "MCP server" }).click();
  const dialog = page.getByRole("dialog", { name: "Register an MCP server" });
  await dialog.getByLabel("Name").fill("notes");
  await dialog.getByLabel("Address").fill("http://127.0.0.1:1/mcp");
  await dialog.getByRole("button", { name: "Register" }).click();
  await dialog.getByRole("alert").waitFor();
  assert.equal(await dialog.getByLabel("Address").inputValue(), "http://127.0.0.1:1/mcp");
  await look(page, "remotes-refused");
  assert.deepEqual(problems, []);
});

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { launchBrowser } from "./support/browser.mjs";
import { openConsole } from "./support/console.mjs";
import { startServer } from "./support/server.mjs";

// Speed as it is seen, told as figures: no test here fails for being slow on a busy machine.

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON = process.env.STEERSMAN_E2E_PYTHON ?? join(ROOT, ".venv/bin/python");

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

/** In the page: notes when the first words of an answer arrive on a socket, and when they are in the page. */
function noteFirstWords() {
  globalThis.first = { arrived: null, shown: null };
  const Native = globalThis.WebSocket;
  globalThis.WebSocket = class extends Native {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        if (globalThis.first.arrived === null && String(data).includes('"TextDelta"')) globalThis.first.arrived = performance.now();
      });
    }
  };
  new MutationObserver(() => {
    const text = document.querySelector("[data-partial]")?.textContent;
    if (text && globalThis.first.shown === null) requestAnimationFrame(() => (globalThis.first.shown ??= performance.now()));
  }).observe(document, { childList: true, subtree: true, characterData: true });
}

test("the first words of an answer are shown as soon as they arrive, not with the next beat of the throttle", async (t) => {
  const took = [];
  for (let round = 0; round < 5; round += 1) {
    const { page, context } = await openConsole(browser, server, "/new?agent=calculator");
    await page.addInitScript(noteFirstWords);
    await page.reload();
    await page.getByLabel("What calculator is to do").fill("What is 2 + 2?");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => globalThis.first?.shown != null);
    const { arrived, shown } = await page.evaluate(() => globalThis.first);
    took.push(shown - arrived);
    await context.close();
  }
  took.sort((a, b) => a - b);
  t.diagnostic(`from the first delta's arrival to the frame that shows it: ${took.map((ms) => ms.toFixed(0)).join(", ")} ms`);
  assert.equal(took.length, 5);
});

test("a transcript of a thousand messages opens at its end, scrolls, and is written on to", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "steersman-long-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "long.db");
  const made = await promisify(execFile)(PYTHON, ["-m", "tests.support.long_transcript", file], { cwd: ROOT });
  const long = await startServer({ STEERSMAN_DATABASE_URL: `sqlite:///${file}` });
  t.after(() => long.close());
  const { page, context, problems } = await openConsole(browser, long, `/runs/${made.stdout.trim()}`);
  t.after(() => context.close());
  const transcript = page.getByRole("region", { name: "Transcript" });
  await transcript.getByText("Answer 1000:").waitFor();
  const isAtEnd = () => transcript.evaluate((part) => part.scrollHeight - part.scrollTop - part.clientHeight < 60);
  while (!(await isAtEnd())) await page.waitForTimeout(50);
  assert.equal(await transcript.getByRole("article").count(), 1000);
  const frames = await transcript.evaluate(scrolled);
  t.diagnostic(`1,000 messages, 120 frames of scrolling: median ${frames[60].toFixed(0)} ms, p95 ${frames[114].toFixed(0)} ms`);
  await page.getByRole("button", { name: /To the newest/ }).click();
  await page.getByLabel(/^Message to/).fill("One more");
  await page.keyboard.press("Enter");
  await transcript.getByText("One more", { exact: true }).waitFor();
  await page.locator("[data-partial]").first().waitFor();
  await page.locator("header").getByText("Completed", { exact: true }).waitFor();
  while (!(await isAtEnd())) await page.waitForTimeout(50);
  assert.deepEqual(problems, []);
});

/** In the page: how long each of 120 frames took in which the part was scrolled from its end to its beginning, sorted. */
async function scrolled(part) {
  const times = [];
  const step = part.scrollHeight / 120;
  let before = performance.now();
  for (let frame = 0; frame < 120; frame += 1) {
    part.scrollTop -= step;
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - before);
    before = performance.now();
  }
  return times.sort((a, b) => a - b);
}

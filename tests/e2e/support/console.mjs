/** The console as a person works with it, what is seen of it, and what is wrong with it for those who can't see or point. */

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { openPage } from "./browser.mjs";

const ROOT = new URL("../../../", import.meta.url);
/** Where screenshots are kept, for a person to look at. */
const SCREENSHOTS = fileURLToPath(new URL("build/screenshots/", ROOT));
const AXE = createRequire(new URL("console/package.json", ROOT)).resolve("axe-core/axe.min.js");

export const WIDE = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

/**
 * Opens a page of the console in a browser context of its own.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {{ url: string }} server
 * @param {string} path such as "/" or "/agents".
 * @param {import("playwright-core").BrowserContextOptions} options
 */
export async function openConsole(browser, server, path = "/", options = {}) {
  const opened = await openPage(browser, { viewport: WIDE, ...options });
  await opened.page.goto(`${server.url}/console${path}`);
  await heading(opened.page).waitFor();
  return opened;
}

/** The page's heading: there as soon as the page is. */
export function heading(page) {
  return page.locator("[data-page-title]").first();
}

/**
 * Keeps a screenshot of the page at both widths, light and dark, under `name`, and fails where axe finds anything serious,
 * or where the page is wider than the window.
 */
export async function look(page, name) {
  await mkdir(SCREENSHOTS, { recursive: true });
  const before = page.viewportSize();
  for (const [size, viewport] of Object.entries({ wide: WIDE, phone: PHONE })) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.screenshot({ path: `${SCREENSHOTS}${name}-${size}-${colorScheme}.png` });
      assert.deepEqual(await serious(page), [], `${name}, ${size}, ${colorScheme}`);
    }
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= viewport.width, `${name} is ${width} wide in a window of ${viewport.width}`);
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  if (before) await page.setViewportSize(before);
}

let axe;

/** What axe finds that is serious or worse, a line each. */
async function serious(page) {
  axe ??= await readFile(AXE, "utf8");
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, help, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${help}\n${html}\n${failureSummary}`));
}

/** Asks the API as the page's own user does. */
export async function api(server, query, variables = {}) {
  const response = await fetch(`${server.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

/** Begins a run by the API, as another device would; its id. */
export async function begun(server, agent, input) {
  const start = `mutation ($input: StartRunInput!) { startRun(input: $input) { run { id } errors { message } } }`;
  const { startRun } = await api(server, start, { input: { agent, input } });
  assert.deepEqual(startRun.errors, []);
  return startRun.run.id;
}

/** A run as it is stored, once it has one of these statuses. */
export async function settled(server, id, ...statuses) {
  const query = `query ($id: ID!) {
    run(id: $id) { status finish messages(first: 100) { nodes { seq role text } } toolCalls(first: 100) { nodes { name state input result reason } } }
  }`;
  for (;;) {
    const { run } = await api(server, query, { id });
    if (statuses.includes(run.status)) return run;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The words of a text, without what Markdown or a page puts between them. */
export function words(text) {
  return (text.match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}

/** How often one text stands in another, by words. */
export function times(text, within) {
  return words(within).split(words(text)).length - 1;
}

import { createRequire } from "node:module";

// The console's own development dependency; these tests have no packages of theirs.
const { chromium } = createRequire(new URL("../../../console/package.json", import.meta.url))("playwright-core");

/** The system's own Chromium, without the services of its maker that it would look for at every start. */
export function launchBrowser() {
  return chromium.launch({
    executablePath: process.env.STEERSMAN_CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox", // Needed where the tests run as root, as in a container.
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/**
 * A fresh page that remembers what went wrong on it, every address that it asked for, and every WebSocket frame that it
 * sent.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {import("playwright-core").BrowserContextOptions} options
 */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 960 }, ...options });
  // Reached only where something is broken; a busy machine takes its time.
  context.setDefaultTimeout(Number(process.env.STEERSMAN_E2E_PATIENCE_MS ?? 120_000));
  const page = await context.newPage();
  const problems = [];
  const requests = [];
  const sent = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("request", (request) => requests.push(request.url()));
  page.on("websocket", (socket) => {
    requests.push(socket.url());
    socket.on("framesent", ({ payload }) => sent.push(JSON.parse(payload)));
  });
  return { page, context, problems, requests, sent };
}

import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const COMMAND = process.env.STEERSMAN_E2E_COMMAND ?? join(ROOT, ".venv/bin/steersman");

/**
 * A real server in a process of its own, with the example agents, the scripted demo model and an empty database.
 *
 * `close` ends it and removes its database; `crash` kills it without a word, and starts it again on the same database and
 * at the same address.
 *
 * @param {Record<string, string>} settings further environment variables.
 * @param {string[]} command what to start: `dev`, where nothing else is said; `serve` after the tables were made.
 * @returns {Promise<{ url: string, log: () => string, crash: () => Promise<void>, close: () => Promise<void> }>}
 */
export async function startServer(settings = {}, command = ["dev"]) {
  const folder = await mkdtemp(join(tmpdir(), "steersman-e2e-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const environment = {
    ...foreign(process.env),
    STEERSMAN_PORT: String(port),
    STEERSMAN_DATABASE_URL: `sqlite:///${join(folder, "steersman.db")}`,
    ...settings,
  };
  let log = "";
  let end;

  const start = async () => {
    const child = spawn(COMMAND, command, {
      cwd: ROOT,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true, // A group of its own, so that a signal reaches the process that serves as well as its watcher.
    });
    child.stdout.on("data", (chunk) => (log += chunk));
    child.stderr.on("data", (chunk) => (log += chunk));
    const ended = new Promise((resolve) => child.once("close", resolve));
    end = (signal) => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal);
      return ended;
    };
    await ready(url, child, () => log);
  };
  const crash = async () => {
    await end("SIGKILL");
    await start();
  };
  const close = async () => {
    await end("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  };

  try {
    if (command[0] !== "dev") await migrated(environment);
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return { url, log: () => log, crash, close };
}

async function migrated(environment) {
  await promisify(execFile)(COMMAND, ["migrate"], { cwd: ROOT, env: environment });
}

/** The environment without this project's settings and without a key. */
function foreign(environment) {
  const ours = ([name]) => name.startsWith("STEERSMAN_") || name.startsWith("ANTHROPIC_");
  return Object.fromEntries(Object.entries(environment).filter((entry) => !ours(entry)));
}

async function ready(url, child, log) {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}:\n${log()}`);
    try {
      if ((await fetch(`${url}/readyz`)).ok) return;
    } catch {
      // Not listening yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

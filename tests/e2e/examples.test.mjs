import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { startServer } from "./support/server.mjs";

// The code of docs/api.md that names a file, compiled as a reader would compile it, with the console's own packages.

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SECRET = "a secret of the tests, long enough for HS256";
const COMMAND = process.env.STEERSMAN_E2E_COMMAND ?? join(ROOT, ".venv/bin/steersman");
const run = promisify(execFile);
let server;
let folder;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "steersman-examples-"));
  const page = await readFile(join(ROOT, "docs/api.md"), "utf8");
  const files = [...page.matchAll(/^```ts (\S+)\n(.*?)^```/gms)];
  for (const [, name, text] of files) await writeFile(join(folder, name), text);
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await symlink(join(ROOT, "console/node_modules"), join(folder, "node_modules"));
  const options = "--strict --target es2023 --module esnext --moduleResolution bundler --lib es2023,dom --types node";
  const tsc = join(ROOT, "console/node_modules/.bin/tsc");
  await run(tsc, [...options.split(" "), ...files.map(([, name]) => name)], { cwd: folder });
  server = await startServer({ STEERSMAN_JWT_SECRET: SECRET });
});

after(async () => {
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

const delta = (offset, text, more = {}) => ({ __typename: "TextDelta", seq: 1, step: 1, block: 0, offset, text, ...more });

async function shown(...events) {
  const { show } = await import(pathToFileURL(join(folder, "reducer.js")).href);
  return events.reduce(show, { seq: 0, blocks: {} }).blocks;
}

test("the reducer shows text block by block, and text that comes twice changes nothing", async () => {
  const [family, rest] = ["👨‍👩‍👧 at ", "home"];
  const twice = [delta(0, family), delta(0, family), delta(family.length, rest), delta(0, family + rest)];
  assert.deepEqual(await shown(...twice, delta(0, "!", { block: 1 })), {
    "1/0/TextDelta": family + rest,
    "1/1/TextDelta": "!",
  });
});

test("the reducer drops what it holds of a step that begins again, and of no other", async () => {
  const again = { __typename: "StepRestarted", seq: 3, step: 1 };
  const other = delta(0, "eleven", { step: 11 });
  assert.deepEqual(await shown(delta(0, "lost"), other, again), { "11/0/TextDelta": "eleven" });
});

test("the example for graphql-ws watches a run to its end", async () => {
  const { stdout } = await run(COMMAND, ["token", "--sub", "dev"], {
    env: { PATH: process.env.PATH, STEERSMAN_JWT_SECRET: SECRET },
  });
  const query = `mutation { startRun(input: { agent: "calculator", input: "6 * 7" }) { run { streamId } } }`;
  const response = await fetch(`${server.url}/graphql`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query }),
  });
  const { streamId } = (await response.json()).data.startRun.run;
  const program = `
    import { watch } from "./watch.js";
    const [url, token, streamId] = process.argv.slice(2);
    console.log(JSON.stringify(await watch(url, async () => token, streamId)));`;
  await writeFile(join(folder, "program.js"), program);
  const url = `${server.url.replace("http", "ws")}/graphql`;
  const watched = await run(
    process.execPath,
    ["--experimental-websocket", "--no-warnings", "program.js", url, stdout.trim(), streamId],
    { cwd: folder },
  );
  const { blocks } = JSON.parse(watched.stdout);
  assert.match(blocks["1/0/TextDelta"], /^I am Steersman's scripted demo model/);
  assert.match(blocks["2/0/TextDelta"], /calculate says: 42$/);
});

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { launchBrowser, openPage } from "./support/browser.mjs";
import { look } from "./support/console.mjs";
import { startProvider } from "./support/oidc.mjs";
import { startServer } from "./support/server.mjs";

// Nobody asks a model here.
const NO_MODEL = { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" };
const SECRET = "a secret of the tests, long enough for HS256";

let browser;
let provider;
let atProvider;
let bySecret;

before(async () => {
  browser = await launchBrowser();
  provider = await startProvider();
  atProvider = await startServer(
    {
      ...NO_MODEL,
      STEERSMAN_JWKS_URL: `${provider.url}/keys`,
      STEERSMAN_JWT_AUDIENCE: "steersman",
      STEERSMAN_OIDC_ISSUER: provider.url,
      STEERSMAN_OIDC_CLIENT_ID: "console",
    },
    ["serve"],
  );
  bySecret = await startServer({ ...NO_MODEL, STEERSMAN_JWT_SECRET: SECRET }, ["serve"]);
});

after(async () => {
  await browser?.close();
  await atProvider?.close();
  await bySecret?.close();
  provider?.close();
});

async function visit(t, server, path) {
  const visited = await openPage(browser, { viewport: { width: 1280, height: 900 } });
  t.after(() => visited.context.close());
  await visited.page.goto(`${server.url}/console${path}`);
  return visited;
}

function token(sub, seconds, roles = []) {
  const now = Math.floor(Date.now() / 1000);
  const parts = [{ alg: "HS256", typ: "JWT" }, { sub, roles, iat: now, exp: now + seconds }];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${text}.${createHmac("sha256", SECRET).update(text).digest("base64url")}`;
}

const signIn = (page) => page.getByRole("button", { name: /^Sign in at/ });

test("a person signs in at the provider and comes back to where they were, in every tab, GraphiQL too", async (t) => {
  const { page, context, problems } = await visit(t, atProvider, "/agents?tab=models");
  await signIn(page).waitFor();
  await look(page, "sign-in");
  await signIn(page).click();
  await page.getByRole("tab", { name: "Models", selected: true }).waitFor();
  assert.equal(page.url(), `${atProvider.url}/console/agents?tab=models`);
  await page.getByRole("button", { name: "grace" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "grace" }).waitFor();

  const other = await context.newPage();
  await other.goto(`${atProvider.url}/console/graphiql`);
  await other.getByText(/carry your token/).waitFor();

  await page.getByRole("button", { name: "grace" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await signIn(page).waitFor();
  assert.deepEqual(problems, []);
});

test("a token that is ending is renewed before it is sent, and one that can't be leads back to the sign-in", async (t) => {
  provider.seconds = 20; // less than what is left when one is renewed
  t.after(() => (provider.seconds = 3_600));
  const { page } = await visit(t, atProvider, "/agents");
  await signIn(page).click();
  await page.getByRole("button", { name: "New agent", exact: true }).first().waitFor();
  const before = provider.renewals;
  await page.getByRole("tab", { name: "Schedules" }).click();
  await page.getByText("No schedules").waitFor();
  assert.ok(provider.renewals > before);

  provider.broken = true;
  t.after(() => (provider.broken = false));
  await page.evaluate(() => {
    const key = Object.keys(localStorage).find((name) => name.startsWith("oidc.user:"));
    const user = JSON.parse(localStorage.getItem(key));
    localStorage.setItem(key, JSON.stringify({ ...user, expires_at: Math.floor(Date.now() / 1000) - 5 }));
  });
  await page.reload();
  await signIn(page).waitFor();
  assert.match(page.url(), /\/console\/agents/);
});

test("a provider that refuses is told, and one may try again", async (t) => {
  provider.user = null;
  t.after(() => (provider.user = "grace"));
  const { page } = await visit(t, atProvider, "/");
  await signIn(page).click();
  await page.getByText("access_denied").first().waitFor();
  provider.user = "grace";
  await page.getByRole("button", { name: "Try again" }).click();
  await signIn(page).click();
  await page.getByRole("button", { name: "grace" }).waitFor();
});

test("a token that was pasted signs in until it ends; a wrong one is told", async (t) => {
  const { page } = await visit(t, bySecret, "/agents");
  await page.getByLabel("Token").fill("nonsense");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The token was not taken").waitFor();
  await look(page, "sign-in-refused");
  await page.getByLabel("Token").fill(token("ada", 4));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "ada" }).waitFor();
  while (await page.getByRole("button", { name: "ada" }).isVisible()) {
    await page.waitForTimeout(500);
    const tab = page.getByRole("tab", { name: "Webhooks" });
    if (await tab.isVisible()) await tab.click().catch(() => {}); // it may go at this very moment
    const first = page.getByRole("tab", { name: "Agents" });
    if (await first.isVisible()) await first.click().catch(() => {});
  }
  await page.getByText("The token was not taken").waitFor();
  assert.match(page.url(), /\/console\/agents/);
});

test("an administrator sees everybody's runs, reads them, may stop them, and says nothing in them", async (t) => {
  const start = `mutation { startRun(input: { agent: "desk", input: "Where is my order?" }) { run { id } errors { message } } }`;
  const answer = await fetch(`${bySecret.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token("grace", 600)}` },
    body: JSON.stringify({ query: start }),
  });
  assert.equal(answer.status, 200);
  const { page } = await visit(t, bySecret, "/");
  await page.getByLabel("Token").fill(token("root", 600, ["admin"]));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Nothing has run yet").waitFor();
  await page.getByRole("switch", { name: "Everyone" }).click();
  await page.getByRole("row").filter({ hasText: "Where is my order?" }).getByRole("cell", { name: "grace" }).waitFor();
  await look(page, "runs-everyone");
  await page.getByRole("link", { name: "Where is my order?" }).click();
  await page.getByText("It belongs to grace").waitFor();
  assert.equal(await page.getByRole("textbox", { name: /^Message to/ }).count(), 0);
  await page.getByRole("button", { name: "Stop", exact: true }).or(page.getByText("The run failed")).first().waitFor();
  await look(page, "run-of-another");
  await page.goto(`${bySecret.url}/console/dashboard?of=everyone`);
  await page.getByRole("region", { name: "By user" }).or(page.getByText("By user")).first().waitFor();
});

/** An OpenID Connect provider, as small as one can be: it signs everybody in as the user that it was told, by code with PKCE. */

import { createHash, createPublicKey, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer } from "node:http";

/**
 * Starts one on a port of its own.
 *
 * `user` is who comes next; null refuses. `seconds` is how long access tokens last. `renewals` counts refreshed tokens.
 */
export async function startProvider() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwk = { ...createPublicKey(privateKey).export({ format: "jwk" }), kid: "key-1", alg: "RS256", use: "sig" };
  const codes = new Map();
  const refreshing = new Map();
  const provider = { url: "", user: "grace", seconds: 3_600, renewals: 0, broken: false, close: () => server.close() };

  const token = (claims, seconds) => {
    const now = Math.floor(Date.now() / 1000);
    const parts = [{ alg: "RS256", typ: "JWT", kid: "key-1" }, { iss: provider.url, iat: now, exp: now + seconds, ...claims }];
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    return `${text}.${sign("RSA-SHA256", Buffer.from(text), privateKey).toString("base64url")}`;
  };
  const granted = (user, clientId) => {
    const refresh = randomUUID();
    refreshing.set(refresh, { user, clientId });
    return {
      access_token: token({ sub: user, aud: "steersman" }, provider.seconds),
      id_token: token({ sub: user, aud: clientId }, 3_600),
      refresh_token: refresh,
      token_type: "Bearer",
      expires_in: provider.seconds,
      scope: "openid profile offline_access",
    };
  };

  const redeemed = (form) => {
    if (form.get("grant_type") === "refresh_token") {
      const known = refreshing.get(form.get("refresh_token"));
      refreshing.delete(form.get("refresh_token")); // good for one use
      if (!known || provider.broken) return [400, { error: "invalid_grant" }];
      provider.renewals += 1;
      return [200, granted(known.user, known.clientId)];
    }
    const known = codes.get(form.get("code"));
    codes.delete(form.get("code"));
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (!known || known.challenge !== challenge || known.redirect !== form.get("redirect_uri")) return [400, { error: "invalid_grant" }];
    return [200, granted(known.user, known.clientId)];
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, provider.url);
    const answer = (status, body) => {
      response.writeHead(status, { "content-type": "application/json", "access-control-allow-origin": "*" });
      response.end(JSON.stringify(body));
    };
    if (url.pathname === "/.well-known/openid-configuration") {
      const at = (path) => provider.url + path;
      return answer(200, { issuer: provider.url, authorization_endpoint: at("/authorize"), token_endpoint: at("/token"), jwks_uri: at("/keys") });
    }
    if (url.pathname === "/keys") return answer(200, { keys: [jwk] });
    if (url.pathname === "/authorize") {
      const back = new URL(url.searchParams.get("redirect_uri"));
      back.searchParams.set("state", url.searchParams.get("state"));
      if (provider.user === null) back.searchParams.set("error", "access_denied");
      else {
        const code = randomUUID();
        const challenge = url.searchParams.get("code_challenge");
        codes.set(code, { user: provider.user, clientId: url.searchParams.get("client_id"), redirect: url.searchParams.get("redirect_uri"), challenge });
        back.searchParams.set("code", code);
      }
      response.writeHead(302, { location: back.href });
      return response.end();
    }
    let body = "";
    for await (const part of request) body += part;
    return answer(...(url.pathname === "/token" ? redeemed(new URLSearchParams(body)) : [404, {}]));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  provider.url = `http://127.0.0.1:${server.address().port}`;
  return provider;
}

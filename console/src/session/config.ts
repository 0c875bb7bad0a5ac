/** What the server says of itself before anybody is signed in: /console/config.json. */
export interface Config {
  /** Whether a development user signs in everybody who brings no token. */
  development: boolean;
  /** Where to sign in; null where that is by token alone. */
  oidc: OidcConfig | null;
  version: string;
}

/** An OpenID Connect provider, and this console as its client. */
export interface OidcConfig {
  authority: string;
  clientId: string;
  scope: string;
  audience: string | null;
  /** Which of its tokens goes to the API. */
  token: "access" | "id";
}

/** Asks the server. Rejects where it can't be reached. */
export async function loadConfig(): Promise<Config> {
  const response = await fetch("/console/config.json", { headers: { accept: "application/json" } });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  return (await response.json()) as Config;
}

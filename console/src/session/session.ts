/** Who is signed in to this console: the token that goes with every request, in all tabs of this browser. */

import { type Config, loadConfig } from "./config";
import { isOfOidc, type Oidc, openOidc } from "./oidc";

const KEY = "steersman:token";

let oidc: Oidc | null = null;
let started: Promise<Config> | null = null;
let version = 0;
const listeners = new Set<() => void>();

function changed(): void {
  version += 1;
  for (const listener of listeners) listener();
}

addEventListener("storage", ({ key }) => (key === KEY || isOfOidc(key)) && changed());

async function start(): Promise<Config> {
  const config = await loadConfig();
  if (config.oidc === null) return config;
  oidc = await openOidc(config.oidc);
  await oidc.finish();
  return config;
}

export const session = {
  /**
   * What the server says before anybody is signed in; who comes back from the provider is signed in by this. Rejects where
   * the server can't be reached, or the provider has not signed them in.
   */
  async start(): Promise<Config> {
    started ??= start();
    try {
      return await started;
    } catch (error) {
      started = null;
      throw error;
    }
  },

  /** The token to sign a request with; null for nobody. */
  async token(): Promise<string | null> {
    const kept = localStorage.getItem(KEY);
    return kept ?? (await oidc?.token()) ?? null;
  },

  /** Signs in with a token, which this browser keeps until `forget`. */
  keep(token: string): void {
    localStorage.setItem(KEY, token);
    changed();
  },

  /** Leaves for the provider, and comes back to where one is now. */
  async begin(): Promise<void> {
    await oidc?.begin(location.pathname + location.search + location.hash);
  },

  /** The server has refused the token: whoever it was must sign in again. */
  refused(): void {
    changed();
  },

  /** Signs out. */
  async forget(): Promise<void> {
    localStorage.removeItem(KEY);
    await oidc?.forget();
    changed();
  },

  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },

  /** Another number after each change of who is signed in. */
  version: (): number => version,
};

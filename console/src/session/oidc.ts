import type { User, UserManager } from "oidc-client-ts";
import type { OidcConfig } from "./config";

/** Where the provider sends people back to, as it must know. */
const BACK = "/console/signed-in";
// A token that ends so soon is renewed before it is sent.
const SOON_SECONDS = 30;

/** Sign-in at an OpenID Connect provider, by authorization code with PKCE. */
export interface Oidc {
  /** Leaves for the provider; who comes back is taken to `path`. */
  begin(path: string): Promise<void>;
  /** Takes the code with which somebody has come back, where somebody has. Rejects with the provider's reason. */
  finish(): Promise<void>;
  /** A token that is still good, renewed where that is needed; null where nobody is signed in any more. */
  token(): Promise<string | null>;
  isSignedIn(): Promise<boolean>;
  forget(): Promise<void>;
}

/** The provider's part of this browser's storage: another tab has signed in, renewed or signed out. */
export function isOfOidc(key: string | null): boolean {
  return key?.startsWith("oidc.user:") === true;
}

/** Opens the provider; its library is loaded only where one is configured. */
export async function openOidc(config: OidcConfig): Promise<Oidc> {
  const { UserManager: Manager, WebStorageStateStore } = await import("oidc-client-ts");
  const kept = new WebStorageStateStore({ store: localStorage });
  const manager = new Manager({
    authority: config.authority,
    client_id: config.clientId,
    redirect_uri: new URL(BACK, location.origin).href,
    scope: config.scope,
    userStore: kept,
    stateStore: kept,
    automaticSilentRenew: false,
    ...(config.audience !== null && { extraQueryParams: { audience: config.audience } }),
  });
  return {
    async begin(path) {
      await manager.signinRedirect({ state: path });
    },
    finish: () => finish(manager),
    token: () => freshToken(manager, config),
    isSignedIn: async () => (await manager.getUser()) !== null,
    forget: () => manager.removeUser(),
  };
}

async function finish(manager: UserManager): Promise<void> {
  if (location.pathname !== BACK) return;
  let path = "/console/";
  try {
    const user = await manager.signinCallback();
    if (typeof user?.state === "string" && user.state.startsWith("/console/")) path = user.state;
  } finally {
    // The code is of no use a second time, and does not belong into the history.
    history.replaceState(null, "", path);
  }
}

async function freshToken(manager: UserManager, config: OidcConfig): Promise<string | null> {
  const user = await manager.getUser();
  if (user === null || !isEnding(user)) return tokenOf(user, config);
  // One tab at a time: a refresh token may be good for one use.
  return navigator.locks.request("steersman:renew", async () => {
    const now = await manager.getUser();
    if (now === null || !isEnding(now)) return tokenOf(now, config);
    return tokenOf(await renewed(manager, now), config);
  });
}

function isEnding({ expires_in: left }: User): boolean {
  return left !== undefined && left < SOON_SECONDS;
}

async function renewed(manager: UserManager, user: User): Promise<User | null> {
  try {
    // Without a refresh token it would be asked in a frame, which the page's policy does not have.
    if (user.refresh_token) return await manager.signinSilent();
  } catch (error) {
    // Where the provider can't be reached, the old token is all there is: its own server says whether it is still good.
    if (!(error instanceof Error) || error.name !== "ErrorResponse") return user;
  }
  if (!user.expired) return user;
  await manager.removeUser();
  return null;
}

function tokenOf(user: User | null, { token }: OidcConfig): string | null {
  if (user === null) return null;
  return token === "id" ? (user.id_token ?? null) : user.access_token;
}

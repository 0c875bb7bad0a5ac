/** Who is signed in to this console: the token that goes with every request, in all tabs of this browser. */

const KEY = "steersman:token";

/** Gives a token at each request; something that renews one may take its time. */
export type TokenSource = () => Promise<string | null>;

const kept: TokenSource = async () => localStorage.getItem(KEY);

let source: TokenSource = kept;
let version = 0;
const listeners = new Set<() => void>();

function changed(): void {
  version += 1;
  for (const listener of listeners) listener();
}

addEventListener("storage", ({ key }) => key === KEY && changed());

export const session = {
  /** The token to sign a request with; null for nobody. */
  token: (): Promise<string | null> => source(),

  /** Signs in with a token, which this browser keeps until `forget`. */
  keep(token: string): void {
    localStorage.setItem(KEY, token);
    changed();
  },

  /** Leaves the tokens to something else, such as OpenID Connect; null gives them back. */
  follow(other: TokenSource | null): void {
    source = other ?? kept;
    changed();
  },

  /** Signs out. */
  forget(): void {
    localStorage.removeItem(KEY);
    source = kept;
    changed();
  },

  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },

  /** Another number after each change of who is signed in. */
  version: (): number => version,
};

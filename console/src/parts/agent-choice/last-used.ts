const KEY = "steersman:agents";
const MOST = 20;

/** The agents that were run from this browser, the last one first. */
function lastUsed(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.map(String) : [];
  } catch {
    return []; // something else has written there
  }
}

/** Notes that an agent was run. */
export function rememberUse(agent: string): void {
  const others = lastUsed().filter((each) => each !== agent);
  localStorage.setItem(KEY, JSON.stringify([agent, ...others].slice(0, MOST)));
}

/** What was last used comes first; the rest stays as it was. */
export function lastUsedFirst<Choice extends { agent: string }>(choices: Choice[]): Choice[] {
  const used = lastUsed();
  const rank = ({ agent }: Choice) => {
    const at = used.indexOf(agent);
    return at < 0 ? used.length : at;
  };
  return choices.toSorted((a, b) => rank(a) - rank(b));
}

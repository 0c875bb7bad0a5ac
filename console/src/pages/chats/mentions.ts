/** An agent that can be named in a message by `@` and its handle. */
export interface Mentionable {
  name: string;
  handle: string;
}

/** A piece of a text; `handle` where it is a mention. `at` is where it begins. */
export interface Part {
  text: string;
  handle: string | null;
  at: number;
}

const MENTION = /(?<![\w@])@([a-z0-9_-]{1,64})/g;

/** A text in pieces, mentions by themselves. */
export function parts(text: string): Part[] {
  const found: Part[] = [];
  let from = 0;
  for (const match of text.matchAll(MENTION)) {
    if (match.index > from)
      found.push({ text: text.slice(from, match.index), handle: null, at: from });
    found.push({ text: match[0], handle: match[1] ?? null, at: match.index });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), handle: null, at: from });
  return found;
}

/** The mention that is being written at the caret; null where none is. */
export function mentionAt(text: string, caret: number): { from: number; typed: string } | null {
  const match = /(?:^|[^\w@])@([a-z0-9_-]*)$/i.exec(text.slice(0, caret));
  if (match === null) return null;
  const typed = match[1] ?? "";
  return { from: caret - typed.length - 1, typed };
}

/** Those whose handle or name begins with what was typed, or has it in it; the former first. */
export function matching(agents: Mentionable[], typed: string): Mentionable[] {
  const wanted = typed.toLowerCase();
  const rank = ({ name, handle }: Mentionable) => {
    const words = [handle, name.toLowerCase()];
    if (words.some((word) => word.startsWith(wanted))) return 0;
    return words.some((word) => word.includes(wanted)) ? 1 : 2;
  };
  return agents.filter((agent) => rank(agent) < 2).sort((a, b) => rank(a) - rank(b));
}

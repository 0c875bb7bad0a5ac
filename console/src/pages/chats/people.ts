/** The user ids in a text, separated by commas or spaces. */
export function idsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

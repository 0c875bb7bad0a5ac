/** The spans that the dashboard shows, by their name in the address. */
export const SPANS = {
  hour: { label: "Hour", ms: 3_600_000, parts: 30 },
  day: { label: "Day", ms: 86_400_000, parts: 24 },
  week: { label: "Week", ms: 7 * 86_400_000, parts: 28 },
  month: { label: "30 days", ms: 30 * 86_400_000, parts: 30 },
} as const;

export type SpanName = keyof typeof SPANS;

/** The span that an address names; a day where it names none. */
export function spanOf(name: string | null): SpanName {
  return name !== null && name in SPANS ? (name as SpanName) : "day";
}

/** A span that ends now, beginning at a whole part so that the parts stand still while time goes on. */
export function bounds(name: SpanName, now: number): { from: string; to: string; parts: number } {
  const { ms, parts } = SPANS[name];
  const step = ms / parts;
  const end = Math.ceil(now / step) * step;
  return { from: new Date(end - ms).toISOString(), to: new Date(end).toISOString(), parts };
}

/** When a part begins, as short as the span allows. */
export function tick(name: SpanName, from: string): string {
  const time = new Date(from);
  if (name === "hour" || name === "day")
    return time.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });
  return time.toLocaleDateString("en", { month: "short", day: "numeric" });
}

/** Numbers as people read them. */

const COUNT = new Intl.NumberFormat("en");
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A count: 1,234. */
export function count(value: number): string {
  return COUNT.format(value);
}

/** A count in few characters: 1.2K. */
export function compact(value: number): string {
  return COMPACT.format(value);
}

/** An amount in USD, which the API gives as a text; small ones keep two digits that say something. "–" where unknown. */
export function money(amount: string | number | null | undefined): string {
  if (amount === null || amount === undefined) return "–";
  const value = Number(amount);
  if (value === 0) return "$0";
  if (value >= 0.01) return `$${value.toFixed(2)}`;
  return `$${value.toPrecision(2).replace(/0+$/, "")}`;
}

/** A span in milliseconds: 340 ms, 2.1 s, 3 min 5 s, 2 h 10 min, 3 d 4 h. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 3600) return two(seconds, 60, "min", "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return two(minutes, 60, "h", "min");
  return two(Math.round(minutes / 60), 24, "d", "h");
}

function two(value: number, size: number, large: string, small: string): string {
  const rest = value % size;
  return `${Math.floor(value / size)} ${large}${rest ? ` ${rest} ${small}` : ""}`;
}

/** How long ago: "now", "5 min ago", "3 h ago", "2 d ago", then the date. */
export function ago(time: string, now = Date.now()): string {
  const seconds = Math.round((now - Date.parse(time)) / 1000);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 7 * 86_400) return `${Math.floor(seconds / 86_400)} d ago`;
  return new Date(time).toLocaleDateString("en", { dateStyle: "medium" });
}

/** A point in time in full, by the clock of who looks. */
export function fullTime(time: string): string {
  return new Date(time).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });
}

/**
 * How long to wait before try number `tries` (from 0), in milliseconds: doubling from a quarter of a second to thirty
 * seconds, each between half and the whole of that, so that clients of a server that comes back do not come at once.
 *
 * @param random a number from 0 to below 1.
 */
export function backoff(tries: number, random: number = Math.random()): number {
  return Math.min(30_000, 250 * 2 ** Math.min(tries, 20)) * (0.5 + random / 2);
}

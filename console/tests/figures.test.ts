import { describe, expect, test } from "vitest";
import { ago, compact, count, duration, money } from "../src/ui/figures";

describe("a duration is said in the two units that matter", () => {
  test.each([
    [0, "0 ms"],
    [-5, "0 ms"],
    [340.4, "340 ms"],
    [2_140, "2.1 s"],
    [59_949, "59.9 s"],
    [59_960, "1 min"],
    [185_000, "3 min 5 s"],
    [3_600_000, "1 h"],
    [7_800_000, "2 h 10 min"],
    [100_800_000, "1 d 4 h"],
  ])("%i milliseconds are %s", (milliseconds, said) => {
    expect(duration(milliseconds)).toBe(said);
  });
});

describe("an amount keeps the digits that say something", () => {
  test.each([
    ["0", "$0"],
    ["0.000012", "$0.000012"],
    ["0.0001", "$0.0001"],
    ["0.5", "$0.50"],
    ["12.345", "$12.35"],
    [null, "–"],
    [undefined, "–"],
  ])("%s is %s", (amount, said) => {
    expect(money(amount)).toBe(said);
  });
});

test("large counts are parted, and shortened where there is little room", () => {
  expect(count(1_234_567)).toBe("1,234,567");
  expect(compact(1_234)).toBe("1.2K");
});

describe("how long ago something was is said in one unit, and by its date after a week", () => {
  const now = Date.parse("2026-11-30T12:00:00Z");
  test.each([
    ["2026-11-30T11:59:58Z", "now"],
    ["2026-11-30T12:00:09Z", "now"],
    ["2026-11-30T11:59:30Z", "30 s ago"],
    ["2026-11-30T11:01:00Z", "59 min ago"],
    ["2026-11-29T13:00:00Z", "23 h ago"],
    ["2026-11-28T12:00:00Z", "2 d ago"],
    ["2026-11-01T12:00:00Z", "Nov 1, 2026"],
  ])("%s", (time, said) => {
    expect(ago(time, now)).toBe(said);
  });
});

import { describe, expect, test } from "vitest";
import { addressOf, filtersOf, isFiltered, queryOf } from "../src/pages/runs/filters";

const at = (text: string) => filtersOf(new URLSearchParams(text));

test("filters come back from the address that they make", () => {
  const filters = at(
    "status=failed,running&finish=budget&agent=desk&search=ink&from=2026-01-02&to=2026-01-03&of=everyone&owner=bob&subruns=yes",
  );
  expect(filters).toEqual({
    status: ["RUNNING", "FAILED"],
    finish: ["BUDGET"],
    agent: "desk",
    search: "ink",
    from: "2026-01-02",
    to: "2026-01-03",
    everyone: true,
    owner: "bob",
    subruns: true,
  });
  expect(filtersOf(addressOf(filters))).toEqual(filters);
});

test("what filters nothing leaves the address empty", () => {
  expect(addressOf(at("")).toString()).toBe("");
  expect(queryOf(at(""), true)).toEqual({});
});

test("a status that is none is passed over", () => {
  expect(at("status=nonsense,waiting").status).toEqual(["WAITING"]);
});

describe("whether an empty list means that nothing matches", () => {
  test.each([
    ["", false],
    ["subruns=yes", false],
    ["status=failed", true],
    ["agent=desk", true],
    ["search=a", true],
    ["finish=error", true],
    ["from=2026-01-02", true],
    ["from=yesterday", false],
    ["of=everyone", false],
  ])("%s", (address, filtered) => {
    expect(isFiltered(at(address))).toBe(filtered);
  });
});

test("days are whole, by the clock of who looks, and the last one is among them", () => {
  const { createdAfter, createdBefore } = queryOf(at("from=2026-01-02&to=2026-01-31"), false);
  expect(createdAfter).toBe(new Date(2026, 0, 2).toISOString());
  expect(createdBefore).toBe(new Date(2026, 1, 1).toISOString());
});

test("administrators alone look at the runs of others, whatever the address says", () => {
  const filters = at("of=everyone&owner=bob");
  expect(queryOf(filters, false)).toEqual({});
  expect(queryOf(filters, true)).toEqual({ everyone: true, userId: "bob" });
  expect(queryOf(at("owner=bob"), true)).toEqual({});
});

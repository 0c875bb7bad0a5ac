import { describe, expect, test } from "vitest";
import { addressOf, filtersOf, isFiltered, queryOf } from "../src/pages/runs/filters";

const at = (text: string) => filtersOf(new URLSearchParams(text));

test("filters come back from the address that they make", () => {
  const filters = at("status=failed,running&agent=desk&search=ink&subruns=yes");
  expect(filters).toEqual({
    status: ["RUNNING", "FAILED"],
    agent: "desk",
    search: "ink",
    subruns: true,
  });
  expect(filtersOf(addressOf(filters))).toEqual(filters);
});

test("what filters nothing leaves the address empty", () => {
  expect(addressOf(at("")).toString()).toBe("");
  expect(queryOf(at(""))).toEqual({});
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
  ])("%s", (address, filtered) => {
    expect(isFiltered(at(address))).toBe(filtered);
  });
});

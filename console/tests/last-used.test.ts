import { afterEach, expect, test } from "vitest";
import { lastUsedFirst, rememberUse } from "../src/parts/agent-choice/last-used";

afterEach(() => localStorage.clear());

const order = () =>
  lastUsedFirst(["a", "b", "c", "d"].map((agent) => ({ agent }))).map(({ agent }) => agent);

test("the agent that was last run from this browser comes first, the others stay in their order", () => {
  expect(order()).toEqual(["a", "b", "c", "d"]);
  for (const agent of ["c", "b", "c"]) rememberUse(agent);
  expect(order()).toEqual(["c", "b", "a", "d"]);
});

test("what else was written in its place does no harm", () => {
  localStorage.setItem("steersman:agents", "{not json");
  expect(order()).toEqual(["a", "b", "c", "d"]);
  rememberUse("d");
  expect(order()[0]).toBe("d");
});

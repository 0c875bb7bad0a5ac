import { describe, expect, test } from "vitest";
import { matching, mentionAt, parts } from "../src/pages/chats/mentions";

const AGENTS = [
  { name: "Ada", handle: "ada" },
  { name: "Grace", handle: "bea-2" },
  { name: "Shada", handle: "zed" },
];

test("a text is parted at its mentions, and at nothing else", () => {
  expect(parts("Hi @ada, ask @bea-2!").map(({ text, handle }) => [text, handle])).toEqual([
    ["Hi ", null],
    ["@ada", "ada"],
    [", ask ", null],
    ["@bea-2", "bea-2"],
    ["!", null],
  ]);
  expect(parts("me@ada.example @@ada").every(({ handle }) => handle === null)).toBe(true);
  expect(parts("")).toEqual([]);
});

describe("a mention is being written where an @ stands before the caret with nothing but letters behind it", () => {
  test.each([
    ["@", 1, { from: 0, typed: "" }],
    ["Hi @ad", 6, { from: 3, typed: "ad" }],
    ["Hi @ad there", 6, { from: 3, typed: "ad" }],
    ["Hi @ad there", 12, null],
    ["me@ad", 5, null],
    ["Hi", 2, null],
  ])("%s at %i", (text, caret, expected) => {
    expect(mentionAt(text, caret)).toEqual(expected);
  });
});

test("those are offered first whose handle or name begins with what was typed", () => {
  expect(matching(AGENTS, "ada").map(({ handle }) => handle)).toEqual(["ada", "zed"]);
  expect(matching(AGENTS, "gr").map(({ handle }) => handle)).toEqual(["bea-2"]);
  expect(matching(AGENTS, "").length).toBe(3);
  expect(matching(AGENTS, "nobody")).toEqual([]);
});

import { describe, expect, test } from "vitest";
import * as documents from "../src/documents.js";
import { printedSchema } from "./support/schema.js";
import { typesOf } from "./support/types.js";

describe("an operation that does not fit the schema", () => {
  test.each([
    ["a field", "query Wrong { run(id: 1) { colour } }", /colour/],
    ["an argument", "query Wrong { run(name: 1) { id } }", /name/],
    ["a variable", "query Wrong($id: Int) { run(id: $id) { id } }", /Int/],
  ])("is refused: %s", (_, text, why) => {
    expect(() => typesOf(printedSchema(), [text])).toThrow(why);
  });
});

test("every operation fits the printed schema, and its types are those that are made of it", async () => {
  const texts = Object.values(documents).map(({ text }) => text);
  await expect(typesOf(printedSchema(), texts)).toMatchFileSnapshot("../src/api.ts");
});

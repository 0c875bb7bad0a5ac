import { expect, test } from "vitest";
import * as documents from "../src/documents.js";
import { printedSchema } from "./support/schema.js";
import { typesOf } from "./support/types.js";

test("every operation fits the printed schema, and its types are those that are made of it", async () => {
  const texts = Object.values(documents).map(({ text }) => text);
  await expect(typesOf(printedSchema(), texts)).toMatchFileSnapshot("../src/api.ts");
});

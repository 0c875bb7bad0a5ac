// @vitest-environment node
import { isEnumType } from "graphql";
import { expect, test } from "vitest";
import { printedSchema } from "../packages/react/tests/support/schema.js";
import { nextStep } from "../src/ui/next-step";

// Codes that say all in their message, so that there is nothing to add.
const PLAIN = [
  "AGENT_MISMATCH",
  "INVALID_INPUT",
  "KEY_REUSED",
  "PRICE_UNKNOWN",
  "CALL_NOT_FOUND",
  "NOT_FOUND",
];

test("every error code of the API comes with what one can do next, or says it all itself", () => {
  const codes = printedSchema().getType("ErrorCode");
  if (!isEnumType(codes)) throw new Error("ErrorCode is no enum");
  const names = codes.getValues().map(({ name }) => name);
  const silent = names.filter((name) => nextStep(name) === null);
  expect(silent.sort()).toEqual(PLAIN.sort());
});

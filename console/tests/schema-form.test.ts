import { describe, expect, test } from "vitest";
import {
  configOf,
  entriesOf,
  type FieldRow,
  formFields,
  valueIn,
} from "../src/parts/schema-form/fields";

const row = (name: string, type: string, more: Partial<FieldRow> = {}): FieldRow => ({
  name,
  type,
  default: null,
  description: null,
  required: false,
  ...more,
});

const FIELDS = formFields(
  [
    row("company", "string", { required: true }),
    row("system_prompt", "string"),
    row("thorough", "boolean", { default: false }),
    row("max_tokens", "integer or null"),
    row("temperature", "number"),
    row("tone", "string"),
    row("hours", "object"),
    row("mixed", "string or integer"),
  ],
  {
    properties: {
      max_tokens: { anyOf: [{ type: "integer", minimum: 1, maximum: 100 }, { type: "null" }] },
      temperature: { type: "number", minimum: 0, maximum: 2 },
      tone: { enum: ["warm", "plain"] },
    },
  },
);

test("each field has the control that its type asks for", () => {
  expect(FIELDS.map(({ name, control }) => [name, control])).toEqual([
    ["company", "line"],
    ["system_prompt", "text"],
    ["thorough", "switch"],
    ["max_tokens", "number"],
    ["temperature", "number"],
    ["tone", "choice"],
    ["hours", "json"],
    ["mixed", "json"],
  ]);
});

test("a field has a name for people, and the limits of its schema, also where it may be null", () => {
  const [, , , most, , tone] = FIELDS;
  expect(most).toMatchObject({ label: "Max tokens", least: 1, most: 100 });
  expect(tone?.choices).toEqual(["warm", "plain"]);
});

describe("what does not fit is said, and what fits has its type", () => {
  const field = (name: string) => {
    const found = FIELDS.find((each) => each.name === name);
    if (found === undefined) throw new Error(name);
    return found;
  };
  test.each([
    ["max_tokens", "7", { value: 7 }],
    ["max_tokens", "7.5", { error: "A whole number" }],
    ["max_tokens", "0", { error: "At least 1" }],
    ["max_tokens", "101", { error: "At most 100" }],
    ["max_tokens", " ", { error: "A whole number" }],
    ["temperature", "0.5", { value: 0.5 }],
    ["temperature", "warm", { error: "A number" }],
    ["thorough", "true", { value: true }],
    ["thorough", "", { value: false }],
    ["hours", '{"from": 9}', { value: { from: 9 } }],
    ["company", "", { value: "" }],
  ])("%s: %j", (name, text, expected) => {
    expect(valueIn(field(name), text)).toEqual(expected);
  });

  test("broken JSON is told", () => {
    expect(valueIn(field("hours"), "{")).toHaveProperty("error");
  });
});

test("a configuration becomes entries and comes back the same, and what it leaves out stays out", () => {
  const config = { company: "Ink & Co", max_tokens: 7, hours: { from: 9 } };
  const entries = entriesOf(FIELDS, config);
  expect(configOf(FIELDS, entries)).toEqual({ config, faults: {} });
  expect(entries.temperature).toEqual({ on: false, text: "" });
});

test("a field that is switched off is left out, whatever was written in it", () => {
  const entries = entriesOf(FIELDS, { company: "Ink & Co", max_tokens: 7 });
  const off = { ...entries, max_tokens: { on: false, text: "nonsense" } };
  expect(configOf(FIELDS, off)).toEqual({ config: { company: "Ink & Co" }, faults: {} });
});

test("faults are told by field, and nothing of the others is lost", () => {
  const entries = entriesOf(FIELDS, { company: "Ink & Co", max_tokens: 7 });
  const wrong = { ...entries, max_tokens: { on: true, text: "many" } };
  expect(configOf(FIELDS, wrong)).toEqual({
    config: { company: "Ink & Co" },
    faults: { max_tokens: "A whole number" },
  });
});

/** A field of a configuration, as the API lists it. */
export interface FieldRow {
  name: string;
  type: string;
  default: unknown;
  description: string | null;
  required: boolean;
}

/** How a field is edited. */
export type Control = "switch" | "choice" | "number" | "line" | "text" | "json";

/** A field with all that its form needs. */
export interface FormField extends FieldRow {
  label: string;
  control: Control;
  /** Where it is one of a few values. */
  choices: string[];
  least: number | null;
  most: number | null;
}

/** What was written of a field, and whether it is part of the configuration at all. */
export interface Entry {
  on: boolean;
  text: string;
}

export type Entries = Record<string, Entry>;

type Schema = Record<string, unknown>;

const LONG = 100;

/** The fields of a form, made of what a kind tells of its configuration. */
export function formFields(rows: FieldRow[], jsonSchema: unknown): FormField[] {
  const properties =
    (jsonSchema as { properties?: Record<string, Schema> } | null)?.properties ?? {};
  return rows.map((row) => {
    const schema = plain(properties[row.name] ?? {});
    const choices = (schema.enum as unknown[] | undefined)?.map(String) ?? [];
    return {
      ...row,
      label: titled(row.name),
      control: controlOf(row, schema, choices),
      choices,
      least: limit(schema.minimum, schema.exclusiveMinimum),
      most: limit(schema.maximum, schema.exclusiveMaximum),
    };
  });
}

/** What an optional value may be beside null. */
function plain(schema: Schema): Schema {
  const options = (schema.anyOf as Schema[] | undefined)?.filter(({ type }) => type !== "null");
  return options?.length === 1 ? { ...schema, ...options[0] } : schema;
}

function limit(...given: unknown[]): number | null {
  return (given.find((value) => typeof value === "number") as number | undefined) ?? null;
}

function titled(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function controlOf(row: FieldRow, schema: Schema, choices: string[]): Control {
  const types = row.type.split(" or ").filter((type) => type !== "null");
  if (choices.length > 0) return "choice";
  if (types.length !== 1) return "json";
  switch (types[0]) {
    case "boolean":
      return "switch";
    case "number":
    case "integer":
      return "number";
    case "string":
      return isLong(row, schema) ? "text" : "line";
    default:
      return "json";
  }
}

function isLong({ name, default: value }: FieldRow, schema: Schema): boolean {
  const most = schema.maxLength;
  if (typeof most === "number" && most <= LONG) return false;
  const written = typeof value === "string" && (value.length > LONG || value.includes("\n"));
  return written || /prompt|text|instruction|description|notes/.test(name);
}

/** A value as it stands in a field's control. */
export function textOf(field: FormField, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (field.control === "json") return JSON.stringify(value, null, 2);
  return String(value);
}

/** What was written as a value, or what is wrong with it. */
export function valueIn(field: FormField, text: string): { value: unknown } | { error: string } {
  switch (field.control) {
    case "switch":
      return { value: text === "true" };
    case "number":
      return numberOf(field, text);
    case "json":
      try {
        return { value: text.trim() ? (JSON.parse(text) as unknown) : null };
      } catch (error) {
        return { error: `This is not JSON: ${(error as Error).message}` };
      }
    default:
      return { value: text };
  }
}

function numberOf(field: FormField, text: string): { value: unknown } | { error: string } {
  const value = Number(text);
  const whole = field.type.includes("integer");
  if (!text.trim() || Number.isNaN(value) || (whole && !Number.isInteger(value)))
    return { error: whole ? "A whole number" : "A number" };
  if (field.least !== null && value < field.least) return { error: `At least ${field.least}` };
  if (field.most !== null && value > field.most) return { error: `At most ${field.most}` };
  return { value };
}

/** The entries of a form for a configuration: what it has is on, all else is left out and shows its default. */
export function entriesOf(fields: FormField[], config: Record<string, unknown>): Entries {
  return Object.fromEntries(
    fields.map((field) => {
      const on = field.name in config || field.required;
      const value = field.name in config ? config[field.name] : field.default;
      return [field.name, { on, text: textOf(field, value) }];
    }),
  );
}

/** The configuration that entries say, and what is wrong with them by field. */
export function configOf(
  fields: FormField[],
  entries: Entries,
): { config: Record<string, unknown>; faults: Record<string, string> } {
  const config: Record<string, unknown> = {};
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const entry = entries[field.name];
    if (!entry?.on) continue;
    const checked = valueIn(field, entry.text);
    if ("error" in checked) faults[field.name] = checked.error;
    else config[field.name] = checked.value;
  }
  return { config, faults };
}

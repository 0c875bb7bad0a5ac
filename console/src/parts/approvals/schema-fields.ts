import type { FieldRow } from "../schema-form/fields";

type Schema = Record<string, unknown>;

/**
 * The fields of a form for arguments, by the JSON Schema that their tool has. Null where there is no such form: the schema
 * names no fields, or a form would lose or change something of the arguments without being asked to.
 */
export function fieldsOf(schema: unknown, input: unknown): FieldRow[] | null {
  if (!isObject(schema) || !isObject(schema.properties) || !isObject(input)) return null;
  const { properties, required } = schema;
  const names = Object.keys(properties);
  if (names.length === 0 || Object.keys(input).some((name) => !names.includes(name))) return null;
  const rows = names.map((name) => {
    const property = isObject(properties[name]) ? properties[name] : {};
    return {
      name,
      type: typeOf(property),
      default: property.default ?? null,
      description: typeof property.description === "string" ? property.description : null,
      required: Array.isArray(required) && required.includes(name),
    };
  });
  const fits = rows.every(
    ({ name, type }) =>
      isOfTexts(properties[name]) && (!(name in input) || isKept(input[name], type)),
  );
  return fits ? rows : null;
}

/** Whether a control gives back what it was given. */
function isKept(value: unknown, type: string): boolean {
  const types = type.split(" or ").filter((each) => each !== "null");
  const [only] = types;
  if (types.length !== 1 || !["string", "boolean", "number", "integer"].includes(only ?? ""))
    return true; // edited as JSON
  return typeof value === (only === "integer" ? "number" : only);
}

/** Whether what it may be one of, where it is one of a few, are texts: others come out of a menu as texts too. */
function isOfTexts(property: unknown): boolean {
  if (!isObject(property)) return true;
  const options = Array.isArray(property.anyOf) ? property.anyOf : [];
  const values = [property, ...options].flatMap((one) =>
    isObject(one) && Array.isArray(one.enum) ? (one.enum as unknown[]) : [],
  );
  return values.every((value) => typeof value === "string");
}

/** As the API words the types of an agent kind's fields: "integer or null". What is none of the simple ones is "any". */
function typeOf({ type, anyOf }: Schema): string {
  if (typeof type === "string") return type;
  if (Array.isArray(type)) return type.join(" or ");
  if (Array.isArray(anyOf))
    return anyOf.map((one) => (isObject(one) ? typeOf(one) : "any")).join(" or ");
  return "any";
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

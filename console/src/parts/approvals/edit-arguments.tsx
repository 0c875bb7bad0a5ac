import { useMemo, useState } from "react";
import { JsonArea, parsed } from "../json/json-area";
import {
  configOf,
  type Entries,
  entriesOf,
  type FormField,
  formFields,
} from "../schema-form/fields";
import { SchemaForm } from "../schema-form/schema-form";
import { fieldsOf } from "./schema-fields";

type Checked = { value: unknown } | { error: string };

/** Arguments that a person changes: in a form where their schema is known and they fit into it, else as JSON. */
export type Editing =
  | { as: "json"; text: string; write: (text: string) => void; checked: Checked }
  | {
      as: "form";
      fields: FormField[];
      entries: Entries;
      faults: Record<string, string>;
      write: (entries: Entries) => void;
      checked: Checked;
    };

export function useEditing(input: unknown, schema: unknown): Editing {
  const fields = useMemo(() => {
    const rows = fieldsOf(schema, input);
    return rows === null ? null : formFields(rows, schema);
  }, [schema, input]);
  const [text, write] = useState(() => JSON.stringify(input, null, 2));
  const [entries, fill] = useState<Entries | null>(null);
  if (fields === null) return { as: "json", text, write, checked: parsed(text) };

  const filled = entries ?? entriesOf(fields, input as Record<string, unknown>);
  const { config, faults } = configOf(fields, filled);
  const wrong = Object.keys(faults).length > 0;
  const checked = wrong
    ? { error: "Something in the form needs mending first" }
    : { value: config };
  return { as: "form", fields, entries: filled, faults, write: fill, checked };
}

export function EditArguments({ editing }: { editing: Editing }) {
  if (editing.as === "json")
    return <JsonArea label="Arguments" value={editing.text} onChange={editing.write} />;
  const { fields, entries, faults, write } = editing;
  return <SchemaForm fields={fields} entries={entries} faults={faults} onChange={write} />;
}

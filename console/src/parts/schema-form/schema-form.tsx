import type { ReactNode } from "react";
import { SelectField, Switch, TextArea, TextField } from "../../ui";
import { JsonArea } from "../json/json-area";
import type { Entries, Entry, FormField } from "./fields";
import css from "./schema-form.module.css";

interface SchemaFormProps {
  fields: FormField[];
  entries: Entries;
  /** What is wrong, by field. */
  faults: Record<string, string>;
  onChange: (entries: Entries) => void;
}

/** A form of the fields of a configuration. Each can be switched off, which leaves it to its default. */
export function SchemaForm({ fields, entries, faults, onChange }: SchemaFormProps) {
  return (
    <div className={css.form}>
      {fields.map((field) => {
        const entry = entries[field.name] ?? { on: false, text: "" };
        return (
          <OneField
            key={field.name}
            field={field}
            entry={entry}
            fault={entry.on ? faults[field.name] : undefined}
            onChange={(next) => onChange({ ...entries, [field.name]: next })}
          />
        );
      })}
    </div>
  );
}

interface OneFieldProps {
  field: FormField;
  entry: Entry;
  fault: string | undefined;
  onChange: (entry: Entry) => void;
}

function OneField({ field, entry, fault, onChange }: OneFieldProps) {
  const { label, required } = field;
  return (
    <div className={css.field}>
      <div className={css.control}>
        {entry.on ? (
          <ControlOf field={field} entry={entry} fault={fault} onChange={onChange} />
        ) : (
          <LeftOut field={field} />
        )}
      </div>
      {required ? (
        <span className={css.required}>Required</span>
      ) : (
        <Switch
          label={entry.on ? "Set" : "Default"}
          checked={entry.on}
          onChange={(on) => onChange({ ...entry, on })}
          name={`Set ${label}`}
        />
      )}
    </div>
  );
}

function LeftOut({ field }: { field: FormField }) {
  const { label, description, default: value } = field;
  return (
    <div className={css.out}>
      <span className={css.label}>{label}</span>
      <span className={css.value}>
        {value === null || value === undefined || value === "" ? "Not set" : shown(value)}
      </span>
      {description && <span className={css.help}>{description}</span>}
    </div>
  );
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function ControlOf({ field, entry, fault, onChange }: OneFieldProps): ReactNode {
  const write = (text: string) => onChange({ ...entry, text });
  const said = { label: field.label, help: field.description, error: fault, value: entry.text };
  switch (field.control) {
    case "switch":
      return (
        <div className={css.out}>
          <Switch
            label={field.label}
            checked={entry.text === "true"}
            onChange={(on) => write(String(on))}
          />
          {field.description && <span className={css.help}>{field.description}</span>}
        </div>
      );
    case "choice":
      return (
        <SelectField {...said} onChange={(event) => write(event.currentTarget.value)}>
          {!field.choices.includes(entry.text) && <option value={entry.text}>Choose…</option>}
          {field.choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </SelectField>
      );
    case "number":
      return (
        <TextField
          {...said}
          inputMode="decimal"
          onChange={(event) => write(event.currentTarget.value)}
        />
      );
    case "text":
      return <TextArea {...said} rows={5} onChange={(event) => write(event.currentTarget.value)} />;
    case "json":
      return <JsonArea {...said} rows={3} onChange={write} />;
    case "line":
      return <TextField {...said} onChange={(event) => write(event.currentTarget.value)} />;
  }
}

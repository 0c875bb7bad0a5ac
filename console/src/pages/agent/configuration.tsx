import { Save, Undo2 } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useDeed } from "../../data/use-deed";
import { JsonArea, parsed } from "../../parts/json/json-area";
import { configOf, type Entries, entriesOf, formFields } from "../../parts/schema-form/fields";
import { SchemaForm } from "../../parts/schema-form/schema-form";
import { announce, Button, Card, Empty, ErrorNote, Switch } from "../../ui";
import css from "./configuration.module.css";
import { UPDATE } from "./documents";
import type { AgentRow } from "./page";

/** The configuration: a form of the kind's fields, each of which can be left out, or the same as JSON. */
export function Configuration({ agent }: { agent: AgentRow }) {
  const stored = useMemo(() => (agent.config ?? {}) as Record<string, unknown>, [agent.config]);
  const fields = useMemo(
    () => formFields(agent.kind.fields, agent.kind.jsonSchema),
    [agent.kind.fields, agent.kind.jsonSchema],
  );
  const first = useMemo(() => entriesOf(fields, stored), [fields, stored]);
  const [entries, setEntries] = useState<Entries>(first);
  const [json, setJson] = useState<string | null>(null);
  const update = useDeed(UPDATE, "updateAgent");

  const fromForm = configOf(fields, entries);
  const typed = json === null ? null : parsed(json);
  const wrong = typed !== null && "error" in typed;
  const config = typed !== null && "value" in typed ? typed.value : fromForm.config;
  const isChanged =
    json === null
      ? JSON.stringify(entries) !== JSON.stringify(first)
      : wrong || JSON.stringify(config) !== JSON.stringify(stored);
  useWarned(isChanged);

  if (fields.length === 0)
    return (
      <Empty title="Nothing to configure">
        Agents of the kind {agent.kind.identifier} are all alike.
      </Empty>
    );
  const blocked = json === null ? Object.keys(fromForm.faults).length > 0 : wrong;
  const save = async () => {
    const { problem } = await update.act(() => ({ input: { id: agent.id, config } }));
    if (problem === null) announce("Configuration saved");
  };
  const reset = () => {
    setEntries(first);
    if (json !== null) setJson(JSON.stringify(stored, null, 2));
    update.clear();
  };
  const asJson = (on: boolean) => {
    if (on) return setJson(JSON.stringify(fromForm.config, null, 2));
    if (typed !== null && "value" in typed && typeof typed.value === "object" && typed.value)
      setEntries(entriesOf(fields, typed.value as Record<string, unknown>));
    setJson(null);
  };
  return (
    <Card
      title="Configuration"
      aside={
        <Switch label="As JSON" checked={json !== null} onChange={(on) => !wrong && asJson(on)} />
      }
    >
      {update.problem && (
        <ErrorNote
          title="The configuration was not saved"
          problem={update.problem}
          onDismiss={update.clear}
        />
      )}
      {json === null ? (
        <SchemaForm
          fields={fields}
          entries={entries}
          faults={fromForm.faults}
          onChange={setEntries}
        />
      ) : (
        <JsonArea label="Configuration" hideLabel rows={12} value={json} onChange={setJson} />
      )}
      <footer className={css.foot}>
        <span className={css.state}>{isChanged ? "Not saved yet" : "Saved"}</span>
        {isChanged && (
          <Button icon={<Undo2 />} onClick={reset}>
            Discard
          </Button>
        )}
        <Button
          look="primary"
          icon={<Save />}
          busy={update.busy}
          reason={
            blocked ? "A field needs mending first" : isChanged ? undefined : "Nothing has changed"
          }
          onClick={() => void save()}
        >
          Save
        </Button>
      </footer>
    </Card>
  );
}

/** Has the browser ask before a page with unsaved changes is closed. */
function useWarned(on: boolean): void {
  useEffect(() => {
    if (!on) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [on]);
}

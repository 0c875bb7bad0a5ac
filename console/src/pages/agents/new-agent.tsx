import { type FormEvent, useEffect, useMemo, useState } from "react";
import { useQuery } from "urql";
import { useLocation } from "wouter";
import { useDeed } from "../../data/use-deed";
import { configOf, type Entries, entriesOf, formFields } from "../../parts/schema-form/fields";
import { SchemaForm } from "../../parts/schema-form/schema-form";
import { Button, Dialog, ErrorNote, SelectField, Switch, TextField } from "../../ui";
import { CREATE_AGENT, KINDS } from "./documents";
import css from "./page.module.css";

/** Creates an agent: of which kind, what it is called, and how it is configured. */
export function NewAgent({ kind, onClose }: { kind: string | null; onClose: () => void }) {
  return (
    <Dialog wide open={kind !== null} onOpenChange={(open) => !open && onClose()} title="New agent">
      {kind !== null && <Form key={kind} first={kind} onClose={onClose} />}
    </Dialog>
  );
}

function Form({ first, onClose }: { first: string; onClose: () => void }) {
  const [{ data }] = useQuery({ query: KINDS });
  const [kind, setKind] = useState(first);
  const [name, setName] = useState("");
  const [handle, setHandle] = useState("");
  const [description, setDescription] = useState("");
  const [temporary, setTemporary] = useState(false);
  const [entries, setEntries] = useState<Entries>({});
  const [tried, setTried] = useState(false);
  const create = useDeed(CREATE_AGENT, "createAgent");
  const [, navigate] = useLocation();
  const row = data?.agentKinds.find(({ identifier }) => identifier === kind);
  const fields = useMemo(() => (row ? formFields(row.fields, row.jsonSchema) : []), [row]);
  useEffect(() => setEntries(entriesOf(fields, {})), [fields]);
  const { config, faults } = configOf(fields, entries);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (!name.trim() || Object.keys(faults).length > 0) return;
    const { payload } = await create.act((key) => ({
      input: {
        kind,
        name: name.trim(),
        config,
        temporary,
        key,
        ...(handle.trim() && { handle: handle.trim() }),
        ...(description.trim() && { description: description.trim() }),
      },
    }));
    if (!payload?.agent) return;
    onClose();
    navigate(`/agents/${payload.agent.id}`);
  };
  const wrong = (field: string) => (create.field === field ? create.problem?.message : undefined);

  return (
    <form className={css.form} onSubmit={(event) => void submit(event)}>
      {create.problem && <ErrorNote title="The agent was not created" problem={create.problem} />}
      <SelectField
        label="Kind"
        value={kind}
        help={row?.description}
        onChange={(event) => setKind(event.currentTarget.value)}
      >
        {(data?.agentKinds ?? [])
          .filter(({ available }) => available)
          .map(({ identifier }) => (
            <option key={identifier}>{identifier}</option>
          ))}
      </SelectField>
      <TextField
        label="Name"
        maxLength={255}
        value={name}
        error={tried && !name.trim() ? "What is it called?" : wrong("name")}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextField
        label="Handle (optional)"
        maxLength={64}
        value={handle}
        error={wrong("handle")}
        help="Small letters, digits, _ or -. It is named by it in chats and by startRun."
        onChange={(event) => setHandle(event.currentTarget.value)}
      />
      <TextField
        label="Description (optional)"
        maxLength={4000}
        value={description}
        error={wrong("description")}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
      <SchemaForm
        fields={fields}
        entries={entries}
        faults={tried ? faults : {}}
        onChange={setEntries}
      />
      <Switch
        label="Temporary: gone a day after its last use"
        checked={temporary}
        onChange={setTemporary}
      />
      <div className={css.head}>
        <span />
        <Button type="submit" look="primary" busy={create.busy}>
          Create
        </Button>
      </div>
    </form>
  );
}

import { Check, Pencil, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { useDeed } from "../../data/use-deed";
import { announce, Button, Card, ErrorNote, TextArea, TextField } from "../../ui";
import type { UpdateAgentInput } from "./api";
import { UPDATE } from "./documents";
import css from "./identity.module.css";
import type { AgentRow } from "./page";

/** What the agent is called and who may use it; each part is edited where it stands. */
export function Identity({ agent }: { agent: AgentRow }) {
  return (
    <Card>
      <dl className={css.parts}>
        <Part agent={agent} name="name" label="Name" value={agent.name} required />
        <Part
          agent={agent}
          name="handle"
          label="Handle"
          value={agent.handle ?? ""}
          help="Small letters, digits, _ or -."
        />
        <Part
          agent={agent}
          name="description"
          label="Description"
          value={agent.description ?? ""}
          long
        />
        <Part
          agent={agent}
          name="picture"
          label="Picture"
          value={agent.picture ?? ""}
          help="The address of an image: https://…, or data:image/…."
        />
        <Part
          agent={agent}
          name="sharedWith"
          label="Shared with"
          value={(agent.sharedWith ?? []).join(", ")}
          help="Roles whose holders may see and run it, separated by commas."
        />
      </dl>
    </Card>
  );
}

interface PartProps {
  agent: AgentRow;
  name: "name" | "handle" | "description" | "picture" | "sharedWith";
  label: string;
  value: string;
  help?: ReactNode;
  long?: boolean;
  required?: boolean;
}

function Part({ agent, name, label, value, help, long = false, required = false }: PartProps) {
  const [text, setText] = useState<string | null>(null);
  const update = useDeed(UPDATE, "updateAgent");
  const edits = text !== null;
  const close = () => {
    setText(null);
    update.clear();
  };
  const save = async () => {
    if (text === null) return;
    if (text === value) return close();
    const { problem } = await update.act(() => ({ input: inputOf(agent.id, name, text) }));
    if (problem !== null) return;
    announce(`${label} saved`);
    close();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && (!long || event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      void save();
    }
  };
  if (!edits)
    return (
      <div className={css.part}>
        <dt className={css.label}>{label}</dt>
        <dd className={css.value}>
          <span className={css.text}>{value || <span className={css.none}>Not set</span>}</span>
          <Button
            look="quiet"
            small
            icon={<Pencil />}
            aria-label={`Edit ${label.toLowerCase()}`}
            onClick={() => setText(value)}
          />
        </dd>
      </div>
    );
  const Field = long ? TextArea : TextField;
  const atField = update.problem !== null && update.field === name;
  return (
    <div className={css.part}>
      <dt className={css.label} aria-hidden="true">
        {label}
      </dt>
      <dd className={css.editing} onKeyDown={onKeyDown}>
        <Field
          label={label}
          hideLabel
          className={css.field}
          value={text}
          help={help}
          autoFocus
          error={
            required && !text.trim()
              ? "It needs one"
              : atField
                ? update.problem?.message
                : undefined
          }
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button
          small
          look="primary"
          icon={<Check />}
          busy={update.busy}
          onClick={() => void save()}
        >
          Save
        </Button>
        <Button small icon={<X />} aria-label="Leave it as it was" onClick={close} />
        {update.problem && !atField && (
          <ErrorNote title="It was not saved" problem={update.problem} onDismiss={update.clear} />
        )}
      </dd>
    </div>
  );
}

function inputOf(id: string, name: PartProps["name"], text: string): UpdateAgentInput {
  const given = text.trim();
  if (name === "sharedWith") {
    const roles = given.split(",").map((role) => role.trim());
    return { id, sharedWith: roles.filter(Boolean) };
  }
  return { id, [name]: given || null };
}

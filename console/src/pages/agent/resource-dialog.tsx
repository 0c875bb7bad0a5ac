import { useDeed } from "../../data/use-deed";
import { JsonArea, parsed } from "../../parts/json/json-area";
import { announce, Button, Dialog, ErrorNote, Json, SelectField, TextField } from "../../ui";
import type { ResourcesQuery } from "./api";
import { DELETE_RESOURCE, SET_RESOURCE } from "./documents";
import css from "./resources.module.css";

type ToolType = ResourcesQuery["toolTypes"][number];

/** An entry as it is being written. */
export interface Draft {
  key: string;
  kind: string;
  text: string;
  /** What it was called and is stored as; null for a new one. */
  before: { key: string; kind: string } | null;
}

interface ResourceDialogProps {
  agentId: string;
  types: ToolType[];
  draft: Draft | null;
  onChange: (draft: Draft) => void;
  onClose: () => void;
}

/** A new entry to begin with: of a tool its type, with what that type must be told. */
export function templateOf(kind: string, type: ToolType | undefined): Draft {
  const value =
    kind === "tools"
      ? { type: type?.identifier ?? "", config: beginning(type?.configSchema) }
      : { title: "", text: "" };
  return {
    key: type?.identifier ?? "",
    kind,
    text: JSON.stringify(value, null, 2),
    before: null,
  };
}

function beginning(schema: unknown): Record<string, unknown> {
  const { required = [], properties = {} } = (schema ?? {}) as {
    required?: string[];
    properties?: Record<string, { type?: string; default?: unknown }>;
  };
  const empty: Record<string, unknown> = {
    array: [],
    object: {},
    number: 0,
    integer: 0,
    boolean: false,
  };
  return Object.fromEntries(
    required.map((name) => {
      const { type = "string", default: value } = properties[name] ?? {};
      return [name, value ?? empty[type] ?? ""];
    }),
  );
}

/** Writes a tool or a document as JSON. What is wrong with it is said, and nothing of what was written is lost. */
export function ResourceDialog({ agentId, types, draft, onChange, onClose }: ResourceDialogProps) {
  const set = useDeed(SET_RESOURCE, "setResource");
  const drop = useDeed(DELETE_RESOURCE, "deleteResource");
  const checked = draft ? parsed(draft.text) : null;
  const wrong = checked !== null && "error" in checked;
  const type = types.find(({ identifier }) => identifier === typeIn(checked));
  const close = () => {
    set.clear();
    drop.clear();
    onClose();
  };

  const save = async () => {
    if (draft === null || checked === null || "error" in checked) return;
    const { key, kind, before } = draft;
    const { problem } = await set.act(() => ({
      input: { agentId, key: key.trim(), kind, value: checked.value },
    }));
    if (problem !== null) return;
    if (before !== null && before.key !== key.trim())
      await drop.act(() => ({ input: { agentId, ...before } }));
    announce(`${key} saved`);
    close();
  };

  return (
    <Dialog
      wide
      open={draft !== null}
      onOpenChange={(open) => !open && close()}
      title={draft?.kind === "document" ? "Document" : "Tool"}
      actions={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button
            look="primary"
            busy={set.busy || drop.busy}
            reason={wrong ? "The JSON needs mending first" : undefined}
            onClick={() => void save()}
          >
            Save
          </Button>
        </>
      }
    >
      {draft && (
        <div className={css.form}>
          {set.problem && <ErrorNote title="It was not saved" problem={set.problem} />}
          {draft.kind === "tools" && draft.before === null && (
            <SelectField
              label="Type"
              value={type?.identifier ?? ""}
              help={type?.description}
              onChange={(event) =>
                onChange(
                  templateOf(
                    "tools",
                    types.find(({ identifier }) => identifier === event.currentTarget.value),
                  ),
                )
              }
            >
              {!type && <option value="">Choose…</option>}
              {types.map(({ identifier }) => (
                <option key={identifier}>{identifier}</option>
              ))}
            </SelectField>
          )}
          <TextField
            label="Name"
            value={draft.key}
            maxLength={64}
            help={
              draft.kind === "tools"
                ? "What the model calls it: letters, digits, _ or -. One type may be several tools."
                : "What tools find it by: letters, digits, _ or -."
            }
            error={set.field === "key" ? set.problem?.message : undefined}
            onChange={(event) => onChange({ ...draft, key: event.currentTarget.value })}
          />
          <JsonArea
            label="Entry"
            rows={8}
            value={draft.text}
            error={set.field === "value" ? set.problem?.message : undefined}
            onChange={(text) => onChange({ ...draft, text })}
          />
          {type && (
            <details>
              <summary className={css.soft}>What its config may hold</summary>
              <Json value={type.configSchema} label="Schema of its config" />
            </details>
          )}
        </div>
      )}
    </Dialog>
  );
}

function typeIn(checked: { value: unknown } | { error: string } | null): string | null {
  if (checked === null || "error" in checked) return null;
  return String((checked.value as { type?: unknown } | null)?.type ?? "");
}

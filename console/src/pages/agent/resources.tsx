import { FileText, Pencil, Plus, Trash2, Wrench } from "lucide-react";
import { useState } from "react";
import { useQuery } from "urql";
import { problemOf } from "../../data/problem";
import { useDeed } from "../../data/use-deed";
import { Badge, Button, Card, Confirm, Empty, ErrorNote, Skeleton } from "../../ui";
import type { ResourcesQuery } from "./api";
import { DELETE_RESOURCE, RESOURCES } from "./documents";
import type { AgentRow } from "./page";
import { type Draft, ResourceDialog, templateOf } from "./resource-dialog";
import css from "./resources.module.css";

type ResourceRow = NonNullable<NonNullable<ResourcesQuery["agent"]>["resources"]>["nodes"][number];

/** What the agent is extended with: tools of a type, and documents that they read. Each is an entry of JSON. */
export function Resources({ agent }: { agent: AgentRow }) {
  const [{ data, error }] = useQuery({
    query: RESOURCES,
    variables: { id: agent.id },
    requestPolicy: "cache-and-network",
  });
  const [draft, setDraft] = useState<Draft | null>(null);
  const [leaves, setLeaves] = useState<ResourceRow | null>(null);
  const remove = useDeed(DELETE_RESOURCE, "deleteResource");
  if (error) return <ErrorNote title="They can't be read" problem={problemOf(error)} />;
  if (!data) return <Skeleton />;
  const resources = data.agent?.resources?.nodes ?? [];
  const edit = ({ key, kind, value }: ResourceRow) =>
    setDraft({ key, kind, text: JSON.stringify(value, null, 2), before: { key, kind } });
  return (
    <div className={css.part}>
      {remove.problem && (
        <ErrorNote title="It was not removed" problem={remove.problem} onDismiss={remove.clear} />
      )}
      <Entries
        title="Tools"
        kind="tools"
        resources={resources}
        onEdit={edit}
        onRemove={setLeaves}
        onAdd={() => setDraft(templateOf("tools", data.toolTypes[0]))}
      />
      <Entries
        title="Documents"
        kind="document"
        resources={resources}
        onEdit={edit}
        onRemove={setLeaves}
        onAdd={() => setDraft(templateOf("document", undefined))}
      />
      <ResourceDialog
        agentId={agent.id}
        types={data.toolTypes}
        draft={draft}
        onChange={setDraft}
        onClose={() => setDraft(null)}
      />
      <Confirm
        open={leaves !== null}
        onOpenChange={(open) => !open && setLeaves(null)}
        danger
        title={`Remove ${leaves?.key ?? "it"}?`}
        description="Runs at work have it no more from their next request on."
        confirm="Remove"
        onConfirm={async () => {
          if (leaves === null) return;
          const { key, kind } = leaves;
          await remove.act(() => ({ input: { agentId: agent.id, key, kind } }));
        }}
      />
    </div>
  );
}

interface EntriesProps {
  title: string;
  kind: string;
  resources: ResourceRow[];
  onEdit: (resource: ResourceRow) => void;
  onRemove: (resource: ResourceRow) => void;
  onAdd: () => void;
}

function Entries({ title, kind, resources, onEdit, onRemove, onAdd }: EntriesProps) {
  const own = resources.filter((resource) => resource.kind === kind);
  const isTools = kind === "tools";
  return (
    <Card
      flush
      title={title}
      aside={
        <Button small icon={<Plus />} onClick={onAdd}>
          {isTools ? "Add a tool" : "Add a document"}
        </Button>
      }
    >
      {own.length === 0 ? (
        <Empty
          icon={isTools ? <Wrench /> : <FileText />}
          title={isTools ? "No tools" : "No documents"}
        >
          {isTools
            ? "A tool has a type, such as calculator or fetch, and a name of its own."
            : "Documents are read and searched by tools of the types that do so."}
        </Empty>
      ) : (
        <ul>
          {own.map((resource) => (
            <li key={resource.id} className={css.entry}>
              <span className={css.name}>{resource.key}</span>
              <span className={css.brief}>{brief(resource.value)}</span>
              {isTools && <Badge>{typeOf(resource.value)}</Badge>}
              <Button
                small
                look="quiet"
                icon={<Pencil />}
                aria-label={`Edit ${resource.key}`}
                onClick={() => onEdit(resource)}
              />
              <Button
                small
                look="quiet"
                icon={<Trash2 />}
                aria-label={`Remove ${resource.key}`}
                onClick={() => onRemove(resource)}
              />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function typeOf(value: unknown): string {
  return String((value as { type?: unknown } | null)?.type ?? "?");
}

function brief(value: unknown): string {
  const { title, text, config } = (value ?? {}) as Record<string, unknown>;
  if (typeof title === "string" && title) return title;
  return typeof text === "string" ? text : JSON.stringify(config ?? {});
}

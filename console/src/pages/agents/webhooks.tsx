import { Plus, Trash2, Webhook } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useQuery } from "urql";
import { Link } from "wouter";
import { problemOf } from "../../data/problem";
import { useDeed } from "../../data/use-deed";
import {
  Badge,
  Button,
  Card,
  Confirm,
  CopyButton,
  Dialog,
  Empty,
  ErrorNote,
  Note,
  Skeleton,
  TextField,
} from "../../ui";
import type { WebhooksQuery } from "./api";
import { CREATE_WEBHOOK, DELETE_WEBHOOK, WEBHOOKS } from "./documents";
import css from "./page.module.css";

type WebhookRow = WebhooksQuery["webhooks"]["nodes"][number];

/** Addresses that hear of the end of runs. */
export function Webhooks() {
  const [{ data, error }] = useQuery({ query: WEBHOOKS, requestPolicy: "cache-and-network" });
  const [adds, setAdds] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [leaves, setLeaves] = useState<WebhookRow | null>(null);
  const remove = useDeed(DELETE_WEBHOOK, "deleteWebhook");
  if (error) return <ErrorNote title="The webhooks can't be read" problem={problemOf(error)} />;
  if (!data) return <Skeleton />;
  const { nodes } = data.webhooks;
  return (
    <div className={css.part}>
      <div className={css.head}>
        <p>Each is posted to, signed, when a turn of one of your runs has ended.</p>
        <Button look="primary" icon={<Plus />} onClick={() => setAdds(true)}>
          New webhook
        </Button>
      </div>
      {secret && (
        <Note
          title="The secret that it is signed with: it is shown this once"
          onDismiss={() => setSecret(null)}
          actions={<CopyButton named label="Copy secret" text={secret} />}
        >
          <code>{secret}</code>
        </Note>
      )}
      {remove.problem && (
        <ErrorNote title="It was not removed" problem={remove.problem} onDismiss={remove.clear} />
      )}
      <Card flush>
        {nodes.length === 0 ? (
          <Empty icon={<Webhook />} title="No webhooks">
            Have your own server told when a run is done.
          </Empty>
        ) : (
          <ul className={css.items}>
            {nodes.map((webhook) => (
              <Row key={webhook.id} webhook={webhook} onRemove={() => setLeaves(webhook)} />
            ))}
          </ul>
        )}
      </Card>
      <NewWebhook open={adds} onClose={() => setAdds(false)} onSecret={setSecret} />
      <Confirm
        open={leaves !== null}
        onOpenChange={(open) => !open && setLeaves(null)}
        danger
        title="Remove this webhook?"
        description={`${leaves?.url ?? "It"} hears of nothing more.`}
        confirm="Remove"
        onConfirm={async () => {
          if (leaves) await remove.act(() => ({ input: { id: leaves.id } }));
        }}
      />
    </div>
  );
}

function Row({ webhook, onRemove }: { webhook: WebhookRow; onRemove: () => void }) {
  const { url, agent, enabled, lastDelivery } = webhook;
  const { deliveredAt, error, status, attempts, runId } = lastDelivery ?? {};
  return (
    <li className={css.item}>
      <span className={css.about}>
        <span className={css.name}>{url}</span>
        <span className={css.soft}>{agent ? `Runs of ${agent}` : "All runs"}</span>
        {error && <span className={css.failed}>{error}</span>}
      </span>
      {!enabled && <Badge tone="red">Gone: answered 410</Badge>}
      {lastDelivery && (
        <>
          <Badge tone={deliveredAt ? "green" : "amber"}>
            {deliveredAt ? `Taken (${status})` : `${attempts} of 8 attempts`}
          </Badge>
          <Link href={`/runs/${runId}`}>Its run</Link>
        </>
      )}
      <Button
        small
        look="quiet"
        icon={<Trash2 />}
        aria-label={`Remove the webhook ${url}`}
        onClick={onRemove}
      />
    </li>
  );
}

function NewWebhook(props: {
  open: boolean;
  onClose: () => void;
  onSecret: (secret: string | null) => void;
}) {
  const { open, onClose, onSecret } = props;
  const [url, setUrl] = useState("");
  const [agent, setAgent] = useState("");
  const create = useDeed(CREATE_WEBHOOK, "createWebhook");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { payload } = await create.act((key) => ({
      input: { url: url.trim(), key, ...(agent.trim() && { agent: agent.trim() }) },
    }));
    if (!payload?.webhook) return;
    onSecret(payload.secret);
    setUrl("");
    setAgent("");
    onClose();
  };
  return (
    <Dialog open={open} onOpenChange={(next) => !next && onClose()} title="New webhook">
      <form className={css.form} onSubmit={(event) => void submit(event)}>
        {create.problem && (
          <ErrorNote title="The webhook was not created" problem={create.problem} />
        )}
        <TextField
          label="Address"
          required
          type="url"
          placeholder="https://…"
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <TextField
          label="Agent (optional)"
          value={agent}
          help="Hear of the runs of this one alone: its name, handle or id."
          onChange={(event) => setAgent(event.currentTarget.value)}
        />
        <div className={css.head}>
          <span />
          <Button type="submit" look="primary" busy={create.busy}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

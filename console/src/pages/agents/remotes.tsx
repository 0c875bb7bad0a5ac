import { Plug, Plus, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useQuery } from "urql";
import { problemOf } from "../../data/problem";
import { useDeed } from "../../data/use-deed";
import {
  Badge,
  Button,
  Card,
  Confirm,
  Dialog,
  Empty,
  ErrorNote,
  Json,
  Skeleton,
  TextField,
} from "../../ui";
import type { RemotesQuery } from "./api";
import { DELETE_REMOTE, REGISTER, REMOTES } from "./documents";
import css from "./page.module.css";

type RemoteRow = RemotesQuery["remotes"]["nodes"][number];

/** What offers tools to the viewer's runs: clients of the API, and MCP servers. */
export function Remotes() {
  const [{ data, error }, again] = useQuery({ query: REMOTES, requestPolicy: "cache-and-network" });
  const [adds, setAdds] = useState(false);
  const [leaves, setLeaves] = useState<RemoteRow | null>(null);
  const remove = useDeed(DELETE_REMOTE, "deleteRemote");
  if (error) return <ErrorNote title="The remotes can't be read" problem={problemOf(error)} />;
  if (!data) return <Skeleton />;
  const { nodes } = data.remotes;
  return (
    <div className={css.part}>
      <div className={css.head}>
        <p>Tools that run elsewhere: in a client of the API, or in a server that speaks MCP.</p>
        <span>
          <Button look="quiet" onClick={() => again({ requestPolicy: "network-only" })}>
            Look again
          </Button>
          <Button look="primary" icon={<Plus />} onClick={() => setAdds(true)}>
            MCP server
          </Button>
        </span>
      </div>
      {remove.problem && (
        <ErrorNote title="It was not removed" problem={remove.problem} onDismiss={remove.clear} />
      )}
      <Card flush>
        {nodes.length === 0 ? (
          <Empty icon={<Plug />} title="No remotes">
            Register an MCP server here; a client registers itself by registerRemote.
          </Empty>
        ) : (
          <ul className={css.items}>
            {nodes.map((remote) => (
              <li key={remote.id} className={css.item}>
                <span className={css.about}>
                  <span className={css.name}>{remote.name}</span>
                  <details>
                    <summary className={css.soft}>
                      {remote.tools.length} {remote.tools.length === 1 ? "tool" : "tools"}
                    </summary>
                    {remote.tools.map(({ name, description, inputSchema }) => (
                      <div key={name}>
                        <strong className={css.code}>{name}</strong>
                        <p className={css.soft}>{description}</p>
                        <Json value={inputSchema} label={`Arguments of ${name}`} />
                      </div>
                    ))}
                  </details>
                </span>
                <Badge>{remote.kind === "MCP" ? "MCP server" : "Client"}</Badge>
                <Badge tone={remote.connected ? "green" : "amber"} dot>
                  {remote.connected ? "Connected" : "Away"}
                </Badge>
                <Button
                  small
                  look="quiet"
                  icon={<Trash2 />}
                  aria-label={`Remove ${remote.name}`}
                  onClick={() => setLeaves(remote)}
                />
              </li>
            ))}
          </ul>
        )}
      </Card>
      <AddServer open={adds} onClose={() => setAdds(false)} />
      <Confirm
        open={leaves !== null}
        onOpenChange={(open) => !open && setLeaves(null)}
        danger
        title={`Remove ${leaves?.name ?? "it"}?`}
        description="Runs that wait for it read that it has left. It can be registered again."
        confirm="Remove"
        onConfirm={async () => {
          if (leaves) await remove.act(() => ({ input: { id: leaves.id } }));
        }}
      />
    </div>
  );
}

function AddServer({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const register = useDeed(REGISTER, "registerRemote");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { payload } = await register.act(() => ({
      input: { name: name.trim(), kind: "MCP", url: url.trim() },
    }));
    if (!payload?.remote) return;
    setName("");
    setUrl("");
    onClose();
  };
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => !next && onClose()}
      title="Register an MCP server"
      description="It is connected to at once, and tells which tools it has."
    >
      <form className={css.form} onSubmit={(event) => void submit(event)}>
        {register.problem && (
          <ErrorNote title="The server was not registered" problem={register.problem} />
        )}
        <TextField
          label="Name"
          required
          maxLength={64}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextField
          label="Address"
          required
          type="url"
          placeholder="https://…"
          value={url}
          help="Where it answers over streamable HTTP. The same name again replaces what was there."
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <div className={css.head}>
          <span />
          <Button type="submit" look="primary" busy={register.busy}>
            Register
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

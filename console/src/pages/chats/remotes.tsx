import { useDeed } from "../../data/use-deed";
import { Badge, Button, ErrorNote } from "../../ui";
import type { ChatWholeQuery, MembersToAddQuery } from "./api";
import { LEND } from "./documents";
import css from "./members.module.css";

export type ThreadRow = NonNullable<ChatWholeQuery["chat"]>["threads"]["nodes"][number];
type RemoteRow = MembersToAddQuery["remotes"]["nodes"][number];

/** Which remotes the agents may use in this thread: those of the viewer can be lent, whatever is lent taken away. */
export function Remotes({ thread, remotes }: { thread: ThreadRow; remotes: RemoteRow[] }) {
  const lend = useDeed(LEND, "setThreadResource");
  const lent = thread.resources.nodes.map(({ key, value }) => ({
    key,
    remoteId: remoteIdOf(value),
  }));
  const set = (key: string, remoteId: string | null) =>
    void lend.act(() => ({
      input: {
        threadId: thread.id,
        key,
        kind: "remote",
        value: remoteId === null ? null : { remoteId },
      },
    }));
  const own = remotes.filter(({ id }) => !lent.some(({ remoteId }) => remoteId === id));
  return (
    <section className={css.part}>
      <h3 className={css.title}>Remotes in this thread</h3>
      {lend.problem && (
        <ErrorNote title="Nothing was changed" problem={lend.problem} onDismiss={lend.clear} />
      )}
      {lent.length === 0 && own.length === 0 && (
        <p className={css.none}>
          You have no remotes. A client of the API or an MCP server that offers tools can be lent to
          the agents here.
        </p>
      )}
      <ul>
        {lent.map(({ key, remoteId }) => {
          const remote = remotes.find(({ id }) => id === remoteId);
          return (
            <li key={key} className={css.member}>
              <span className={css.name}>{remote?.name ?? key}</span>
              {remote ? (
                <Badge tone={remote.connected ? "green" : "neutral"} dot>
                  {remote.connected ? "Connected" : "Away"}
                </Badge>
              ) : (
                <Badge>Somebody else's</Badge>
              )}
              <Button small onClick={() => set(key, null)}>
                Take away
              </Button>
            </li>
          );
        })}
        {own.map(({ id, name, connected }) => (
          <li key={id} className={css.member}>
            <span className={css.name}>{name}</span>
            <Badge tone={connected ? "green" : "neutral"} dot>
              {connected ? "Connected" : "Away"}
            </Badge>
            <Button
              small
              onClick={() =>
                set(
                  keyOf(
                    name,
                    lent.map(({ key }) => key),
                  ),
                  id,
                )
              }
            >
              Lend
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function remoteIdOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("remoteId" in value)) return null;
  return String(value.remoteId);
}

/** A name as a resource's key must be, and one that is not taken. */
function keyOf(name: string, taken: string[]): string {
  const plain = name.replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 60) || "remote";
  if (!taken.includes(plain)) return plain;
  let number = 2;
  while (taken.includes(`${plain}-${number}`)) number += 1;
  return `${plain}-${number}`;
}

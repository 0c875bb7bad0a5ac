import { Bot, Play, Plus } from "lucide-react";
import { useState } from "react";
import { useQuery } from "urql";
import { Link, useLocation } from "wouter";
import { problemOf } from "../../data/problem";
import { AgentPicture } from "../../parts/agent-choice/agent-picture";
import { useViewer } from "../../session/viewer";
import { Badge, Button, Card, Empty, ErrorNote, Skeleton, TextField } from "../../ui";
import { AGENTS, KINDS } from "./documents";
import { NewAgent } from "./new-agent";
import css from "./page.module.css";

/** The agents that people have stored, and the kinds that code defines. */
export function AgentList() {
  const [search, setSearch] = useState("");
  const [creates, setCreates] = useState<string | null>(null);
  return (
    <div className={css.part}>
      <div className={css.head}>
        <TextField
          label="Search agents"
          hideLabel
          className={css.search}
          type="search"
          placeholder="Search agents"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <Button look="primary" icon={<Plus />} onClick={() => setCreates("expert")}>
          New agent
        </Button>
      </div>
      <Stored search={search.trim().toLowerCase()} onNew={() => setCreates("expert")} />
      <Kinds search={search.trim().toLowerCase()} onCreate={setCreates} />
      <NewAgent kind={creates} onClose={() => setCreates(null)} />
    </div>
  );
}

function fits(search: string, ...texts: Array<string | null>): boolean {
  return texts.join(" ").toLowerCase().includes(search);
}

function Stored({ search, onNew }: { search: string; onNew: () => void }) {
  const [cursors, setCursors] = useState<Array<string | null>>([null]);
  return (
    <Card flush title="Yours, and those that are shared with you">
      {cursors.map((after, index) => (
        <StoredPage
          key={after ?? ""}
          after={after}
          search={search}
          first={index === 0}
          onNew={onNew}
          onMore={index === cursors.length - 1 ? (next) => setCursors([...cursors, next]) : null}
        />
      ))}
    </Card>
  );
}

function StoredPage(props: {
  after: string | null;
  search: string;
  first: boolean;
  onNew: () => void;
  onMore: ((after: string) => void) | null;
}) {
  const { after, search, first, onNew, onMore } = props;
  const viewer = useViewer();
  const [{ data, fetching, error }] = useQuery({
    query: AGENTS,
    variables: { after },
    requestPolicy: "cache-and-network",
  });
  if (error) return <ErrorNote title="The agents can't be read" problem={problemOf(error)} />;
  if (!data) return fetching ? <Skeleton /> : null;
  const { nodes, pageInfo } = data.agents;
  if (first && nodes.length === 0)
    return (
      <Empty
        icon={<Bot />}
        title="No agents yet"
        actions={<Button onClick={onNew}>New agent</Button>}
      >
        An agent is a kind with a configuration and tools of your own. It is created here, and
        nothing is deployed.
      </Empty>
    );
  const found = nodes.filter(({ name, handle, description }) =>
    fits(search, name, handle, description),
  );
  const next = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  return (
    <>
      {found.length === 0 && search && first && (
        <Empty title="No agent fits">Try another word.</Empty>
      )}
      <ul className={css.items}>
        {found.map((agent) => (
          <li key={agent.id} className={css.item}>
            <AgentPicture name={agent.name} picture={agent.picture} />
            <span className={css.about}>
              <Link href={`/agents/${agent.id}`} className={css.name}>
                {agent.name}
              </Link>
              <span className={css.soft}>{agent.description}</span>
            </span>
            {agent.handle && <span className={css.code}>@{agent.handle}</span>}
            <Badge tone={agent.kind.available ? "neutral" : "red"}>{agent.kind.identifier}</Badge>
            {agent.userId !== viewer.id && <Badge tone="violet">Shared by {agent.userId}</Badge>}
            {agent.temporary && <Badge>Temporary</Badge>}
            <RunLink agent={agent.handle ?? agent.id} />
          </li>
        ))}
      </ul>
      {onMore && next && <Button onClick={() => onMore(next)}>More agents</Button>}
    </>
  );
}

function Kinds({ search, onCreate }: { search: string; onCreate: (kind: string) => void }) {
  const [{ data, error }] = useQuery({ query: KINDS });
  if (error) return <ErrorNote title="The kinds can't be read" problem={problemOf(error)} />;
  const found = (data?.agentKinds ?? []).filter(({ identifier, description }) =>
    fits(search, identifier, description),
  );
  return (
    <Card flush title="Kinds, which code defines">
      <ul className={css.items}>
        {found.map(({ identifier, description, available, fields }) => (
          <li key={identifier} className={css.item}>
            <AgentPicture name={identifier} picture={null} />
            <span className={css.about}>
              <span className={css.name}>{identifier}</span>
              <span className={css.soft}>{description}</span>
            </span>
            <span className={css.soft}>
              {fields.length === 0
                ? "Nothing to configure"
                : `${fields.length} ${fields.length === 1 ? "field" : "fields"}`}
            </span>
            {!available && <Badge tone="red">Not available</Badge>}
            {available && (
              <>
                <Button small icon={<Plus />} onClick={() => onCreate(identifier)}>
                  New agent of it
                </Button>
                <RunLink agent={identifier} />
              </>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function RunLink({ agent }: { agent: string }) {
  const [, navigate] = useLocation();
  return (
    <Button
      small
      icon={<Play />}
      aria-label={`Run ${agent}`}
      onClick={() => navigate(`/new?agent=${encodeURIComponent(agent)}`)}
    >
      Run
    </Button>
  );
}

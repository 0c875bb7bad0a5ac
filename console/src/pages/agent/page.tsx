import { MessagesSquare, Play, Trash2 } from "lucide-react";
import { useState } from "react";
import { useQuery } from "urql";
import { Link, useLocation } from "wouter";
import { problemOf } from "../../data/problem";
import { useDeed } from "../../data/use-deed";
import { AgentPicture } from "../../parts/agent-choice/agent-picture";
import { useViewer } from "../../session/viewer";
import { Badge, Button, Confirm, Empty, ErrorNote, Note, Page, Skeleton, Tabs } from "../../ui";
import { Schedules } from "../agents/schedules";
import type { AgentQuery } from "./api";
import { Configuration } from "./configuration";
import { AGENT, DELETE } from "./documents";
import { Identity } from "./identity";
import css from "./page.module.css";
import { PromptConsole } from "./prompt-console";
import { Resources } from "./resources";

export type AgentRow = NonNullable<AgentQuery["agent"]>;

/** An agent: what it is called, how it is configured, what it can do, and a place to try it. */
export default function AgentPage({ id }: { id: string }) {
  const [{ data, fetching, error }] = useQuery({
    query: AGENT,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const agent = data?.agent ?? null;
  if (error)
    return (
      <Page title="Agent">
        <ErrorNote title="The agent can't be read" problem={problemOf(error)} />
      </Page>
    );
  if (agent === null)
    return (
      <Page title="Agent">
        {fetching ? (
          <Skeleton rows={6} />
        ) : (
          <Empty title="There is no such agent" actions={<Link href="/agents">All agents</Link>}>
            It was removed, or it is not shared with you.
          </Empty>
        )}
      </Page>
    );
  return <Shown agent={agent} />;
}

function Shown({ agent }: { agent: AgentRow }) {
  const viewer = useViewer();
  const [location, navigate] = useLocation();
  const [removes, setRemoves] = useState(false);
  const remove = useDeed(DELETE, "deleteAgent");
  const isOwn = agent.userId === viewer.id;
  const address = agent.handle ?? agent.id;
  const tab = location.split("/")[3] ?? "prompt";
  const tabs = [
    { value: "prompt", label: "Prompt", content: <PromptConsole agent={agent} isOwn={isOwn} /> },
    ...(isOwn
      ? [
          {
            value: "configuration",
            label: "Configuration",
            content: <Configuration key={agent.updatedAt} agent={agent} />,
          },
          { value: "tools", label: "Tools and documents", content: <Resources agent={agent} /> },
          { value: "schedules", label: "Schedules", content: <Schedules agent={address} /> },
        ]
      : []),
  ];
  return (
    <Page
      title={agent.name}
      above={<Link href="/agents">Agents</Link>}
      heading={
        <span className={css.heading}>
          <AgentPicture name={agent.name} picture={agent.picture} />
          {agent.name}
          {agent.temporary && <Badge>Temporary</Badge>}
        </span>
      }
      description={
        <>
          Kind <strong>{agent.kind.identifier}</strong>
          {agent.kind.description && `: ${agent.kind.description}`}
        </>
      }
      actions={
        <>
          <Button
            icon={<Play />}
            reason={agent.kind.available ? undefined : "Its kind is not available here"}
            onClick={() => navigate(`/new?agent=${encodeURIComponent(address)}`)}
          >
            Run
          </Button>
          <Button icon={<MessagesSquare />} onClick={() => navigate(`/chats/${agent.mainChat.id}`)}>
            Chat
          </Button>
          {isOwn && (
            <Button look="danger" icon={<Trash2 />} onClick={() => setRemoves(true)}>
              Delete
            </Button>
          )}
        </>
      }
    >
      {remove.problem && (
        <ErrorNote
          title="The agent was not deleted"
          problem={remove.problem}
          onDismiss={remove.clear}
        />
      )}
      {!agent.kind.available && (
        <Note tone="warning" title="Its kind is not available">
          The code that it is of is not part of this deployment, so it can be read, and not run.
        </Note>
      )}
      {!isOwn && (
        <Note title={`It belongs to ${agent.userId}`}>
          It is shared with you: you can run it, and its owner alone changes it.
        </Note>
      )}
      {isOwn && <Identity agent={agent} />}
      <Tabs
        label="About the agent"
        value={tabs.some(({ value }) => value === tab) ? tab : "prompt"}
        onChange={(next) => navigate(`/agents/${agent.id}/${next}`, { replace: true })}
        tabs={tabs}
      />
      <Confirm
        open={removes}
        onOpenChange={setRemoves}
        danger
        title={`Delete ${agent.name}?`}
        description="Its tools and documents go with it. Its runs stay, and can't be gone on with."
        confirm="Delete"
        onConfirm={async () => {
          const { problem } = await remove.act(() => ({ input: { id: agent.id } }));
          if (problem === null) navigate("/agents");
        }}
      />
    </Page>
  );
}

import { useSearchParams } from "wouter";
import { Page, Tabs } from "../../ui";
import { AgentList } from "./agent-list";
import { Models } from "./models";
import { Remotes } from "./remotes";
import { Schedules } from "./schedules";
import { Webhooks } from "./webhooks";

/** Agents and what belongs to them: remotes whose tools they use, schedules, webhooks, models. */
export default function AgentsPage() {
  const [params, setParams] = useSearchParams();
  return (
    <Page title="Agents">
      <Tabs
        label="Agents and what belongs to them"
        value={params.get("tab") ?? "agents"}
        onChange={(tab) => setParams(tab === "agents" ? {} : { tab }, { replace: true })}
        tabs={[
          { value: "agents", label: "Agents", content: <AgentList /> },
          { value: "schedules", label: "Schedules", content: <Schedules agent={null} /> },
          { value: "remotes", label: "Remotes", content: <Remotes /> },
          { value: "webhooks", label: "Webhooks", content: <Webhooks /> },
          { value: "models", label: "Models", content: <Models /> },
        ]}
      />
    </Page>
  );
}

import { Page } from "../../ui";

/** All agents. */
export default function AgentsPage() {
  return (
    <Page title="Agents">
      <p>All agents.</p>
    </Page>
  );
}

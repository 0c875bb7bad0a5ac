import { Page } from "../../ui";

/** One agent. */
export default function AgentPage({ id }: { id: string }) {
  return (
    <Page title="Agent">
      <p>{id}</p>
    </Page>
  );
}

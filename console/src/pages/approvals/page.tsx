import { Page } from "../../ui";

/** What waits for the viewer. */
export default function ApprovalsPage() {
  return (
    <Page title="Approvals">
      <p>What waits for the viewer.</p>
    </Page>
  );
}

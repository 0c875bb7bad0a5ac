import { Page } from "../../ui";

/** How it goes. */
export default function DashboardPage() {
  return (
    <Page title="Dashboard">
      <p>How it goes.</p>
    </Page>
  );
}

import { Page } from "../../ui";

/** All runs, live. */
export default function RunsPage() {
  return (
    <Page title="Runs">
      <p>All runs, live.</p>
    </Page>
  );
}

import { Page } from "../../ui";

/** One run. */
export default function RunPage({ id }: { id: string }) {
  return (
    <Page title="Run">
      <p>{id}</p>
    </Page>
  );
}

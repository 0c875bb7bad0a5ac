import { Page } from "../../ui";

/** Begins a run. */
export default function NewRunPage() {
  return (
    <Page title="New run">
      <p>Begins a run.</p>
    </Page>
  );
}

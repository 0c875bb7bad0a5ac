import { ToolbarButton } from "@graphiql/react";
import { GraphiQL } from "graphiql";
import { useState } from "react";
import { session } from "../session/session";
import { Bar } from "./bar";
import { TABS } from "./examples";
import { createFetcher } from "./fetcher";
import { keepEvents, keepsEvents } from "./preferences";

// One for the page: GraphiQL reads the schema again whenever its fetcher is another one.
const fetcher = createFetcher(window.location, keepsEvents, async () => {
  await session.start();
  return session.token();
});

/** GraphiQL in the console: Steersman's example operations, and a switch that keeps a subscription's events in view. */
export function Page() {
  return (
    <>
      <Bar />
      <Explorer />
    </>
  );
}

function Explorer() {
  return (
    <GraphiQL
      fetcher={fetcher}
      defaultTabs={TABS}
      defaultEditorToolsVisibility="variables"
      shouldPersistHeaders={false}
      showPersistHeadersSettings={true}
    >
      {/* The bar above has it. */}
      <GraphiQL.Logo> </GraphiQL.Logo>
      <GraphiQL.Toolbar>
        {({ prettify, merge, copy }) => (
          <>
            {prettify}
            {merge}
            {copy}
            <EventsToggle />
          </>
        )}
      </GraphiQL.Toolbar>
    </GraphiQL>
  );
}

/** Chooses what the response pane shows of a subscription: the newest event alone, or all that came. */
function EventsToggle() {
  const [kept, setKept] = useState(keepsEvents);
  const toggle = () => {
    keepEvents(!kept);
    setKept(!kept);
  };
  return (
    <ToolbarButton
      className="toolbar-toggle"
      label={
        kept ? "Subscriptions: show the newest event alone" : "Subscriptions: show every event"
      }
      aria-pressed={kept}
      onClick={toggle}
    >
      <svg
        className="graphiql-toolbar-icon"
        viewBox="0 0 14 14"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        aria-hidden="true"
      >
        <path d="M1 2.5h12M1 7h12M1 11.5h12" />
      </svg>
    </ToolbarButton>
  );
}

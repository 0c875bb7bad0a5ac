import { Component, lazy, type ReactNode, Suspense, useEffect, useRef } from "react";
import { Route, Switch, useLocation } from "wouter";
import { announce, Button, Empty, ErrorNote, Page, Skeleton } from "../ui";

// Each page is a file of its own, loaded when it is first opened.
const Runs = lazy(() => import("../pages/runs/page"));
const Run = lazy(() => import("../pages/run/page"));
const NewRun = lazy(() => import("../pages/new-run/page"));
const Approvals = lazy(() => import("../pages/approvals/page"));
const Agents = lazy(() => import("../pages/agents/page"));
const AgentPage = lazy(() => import("../pages/agent/page"));
const Chats = lazy(() => import("../pages/chats/page"));
const Dashboard = lazy(() => import("../pages/dashboard/page"));

/** The page that the address names. */
export function Pages() {
  const [location] = useLocation();
  usePageFocus(location);
  return (
    <Failing location={location}>
      <Suspense fallback={<Skeleton rows={6} />}>
        <Switch>
          <Route path="/" component={Runs} />
          <Route path="/runs" component={Runs} />
          <Route path="/new" component={NewRun} />
          <Route path="/runs/:id">{({ id }) => <Run id={id} key={id} />}</Route>
          <Route path="/approvals" component={Approvals} />
          <Route path="/agents" component={Agents} />
          <Route path="/agents/:id/*?">{({ id }) => <AgentPage id={id} key={id} />}</Route>
          <Route path="/chats/:chatId?/:threadId?">
            {({ chatId, threadId }) => (
              <Chats chatId={chatId ?? null} threadId={threadId ?? null} />
            )}
          </Route>
          <Route path="/dashboard" component={Dashboard} />
          <Route component={Missing} />
        </Switch>
      </Suspense>
    </Failing>
  );
}

function Missing() {
  return (
    <Page title="No such page">
      <Empty title="There is nothing at this address">It may have been mistyped.</Empty>
    </Page>
  );
}

/** Takes the focus to the heading of a page that is opened, and says its name. */
function usePageFocus(location: string): void {
  const before = useRef(location);
  useEffect(() => {
    if (before.current === location) return;
    before.current = location;
    const found = () => document.querySelector<HTMLElement>("[data-page-title]");
    const arrive = (title: HTMLElement) => {
      if (!document.activeElement?.closest("main, [role=dialog]")) title.focus();
      announce(document.title);
    };
    const title = found();
    if (title) return arrive(title);
    // The page's own file is still on its way.
    const observer = new MutationObserver(() => {
      const late = found();
      if (late === null) return;
      observer.disconnect();
      arrive(late);
    });
    observer.observe(document.body, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, [location]);
}

/** Shows that a page could not be shown, in its place; the rest of the console stays. */
class Failing extends Component<
  { location: string; children: ReactNode },
  { error: Error | null }
> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate(before: { location: string }) {
    if (before.location !== this.props.location && this.state.error) this.setState({ error: null });
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <Page title="This page failed">
        <ErrorNote
          title="This page could not be shown"
          problem={{ code: "PAGE_FAILED", message: error.message }}
          actions={
            <Button small onClick={() => location.reload()}>
              Reload
            </Button>
          }
        />
      </Page>
    );
  }
}

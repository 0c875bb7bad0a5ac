import { Gauge } from "lucide-react";
import { useEffect, useState } from "react";
import { useQuery } from "urql";
import { Link, useSearchParams } from "wouter";
import { problemOf } from "../../data/problem";
import { useViewer } from "../../session/viewer";
import { Ago, Card, Empty, ErrorNote, Page, Skeleton, Switch } from "../../ui";
import type { StatisticsQuery } from "./api";
import { Charts } from "./charts";
import { STATISTICS } from "./documents";
import { GroupTable } from "./group-table";
import css from "./page.module.css";
import { bounds, SPANS, type SpanName, spanOf } from "./span";
import { Tiles } from "./tiles";

export type Statistics = StatisticsQuery["statistics"];

// Figures are read anew this often while the page is looked at.
const RENEW_MS = 10_000;

/** How runs go: now, and over a span of time. */
export default function DashboardPage() {
  const [params, setParams] = useSearchParams();
  const viewer = useViewer();
  const name = spanOf(params.get("span"));
  const everyone = viewer.isAdmin && params.get("of") === "everyone";
  const [now, setNow] = useState(Date.now);
  const [{ data, error, fetching }, again] = useQuery({
    query: STATISTICS,
    variables: { ...bounds(name, now), everyone },
    requestPolicy: "cache-and-network",
  });
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.hidden) return;
      setNow(Date.now());
      again({ requestPolicy: "network-only" });
    }, RENEW_MS);
    return () => clearInterval(timer);
  }, [again]);
  const choose = (next: { span?: string; of?: string }) => {
    const all = { span: name, ...(everyone && { of: "everyone" }), ...next };
    setParams(Object.fromEntries(Object.entries(all).filter(([, value]) => value)), {
      replace: true,
    });
  };
  return (
    <Page
      title="Dashboard"
      description={everyone ? "All users" : "Your runs"}
      actions={
        <>
          {viewer.isAdmin && (
            <Switch
              label="Everyone"
              checked={everyone}
              onChange={(on) => choose({ of: on ? "everyone" : "" })}
            />
          )}
          <fieldset className={css.spans}>
            <legend className="sr-only">Span</legend>
            {(Object.keys(SPANS) as SpanName[]).map((each) => (
              <button
                key={each}
                type="button"
                className={css.span}
                aria-pressed={each === name}
                onClick={() => choose({ span: each })}
              >
                {SPANS[each].label}
              </button>
            ))}
          </fieldset>
        </>
      }
    >
      {error && <ErrorNote title="The figures can't be read" problem={problemOf(error)} />}
      {data ? (
        <Shown statistics={data.statistics} name={name} />
      ) : (
        fetching && <Skeleton rows={8} />
      )}
    </Page>
  );
}

function Shown({ statistics, name }: { statistics: Statistics; name: SpanName }) {
  const { present, total, agents, users } = statistics;
  const nothing = total.turns === 0 && total.calls === 0;
  return (
    <>
      <Tiles statistics={statistics} />
      {present.oldestQueuedAt && (
        <p className={css.queued}>
          The first of the queued runs has waited since <Ago time={present.oldestQueuedAt} />.
        </p>
      )}
      {nothing ? (
        <Card>
          <Empty
            icon={<Gauge />}
            title="Nothing was begun in this time"
            actions={<Link href="/new">New run</Link>}
          >
            Choose a longer span, or begin a run.
          </Empty>
        </Card>
      ) : (
        <>
          <Charts statistics={statistics} name={name} />
          <div className={css.tables}>
            <GroupTable title="By agent" groups={agents} />
            {users && <GroupTable title="By user" groups={users} />}
          </div>
        </>
      )}
    </>
  );
}

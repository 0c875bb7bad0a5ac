import { type UseRun, useModelCalls } from "@steersman/react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { Ago, compact, Dialog, Json, money, StatusBadge } from "../../ui";
import css from "./details.module.css";
import { Timeline } from "./timeline";

/** What there is to know about a run beside its transcript: figures, timeline, runs below it. */
export function Details({ run }: { run: UseRun }) {
  const { calls } = useModelCalls({ runId: run.runId });
  const { usage, budget } = run;
  const context = calls.at(-1)?.usage;
  return (
    <div className={css.details}>
      <dl className={css.facts}>
        <Fact name="Steps">{run.steps}</Fact>
        <Fact name="Cost">{money(usage?.cost)}</Fact>
        {usage && (
          <>
            <Fact name="Tokens in">
              {compact(usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens)}
            </Fact>
            <Fact name="Tokens out">{compact(usage.outputTokens)}</Fact>
          </>
        )}
        {context && (
          <Fact name="Context now">
            {compact(context.inputTokens + context.cacheReadTokens + context.cacheWriteTokens)}
          </Fact>
        )}
        {run.finish && <Fact name="Finish">{run.finish.toLowerCase().replace("_", " ")}</Fact>}
        {run.createdAt && (
          <Fact name="Begun">
            <Ago time={run.createdAt} />
          </Fact>
        )}
      </dl>
      {budget && <BudgetBar budget={budget} />}
      <Timeline calls={calls} tools={run.toolCalls} />
      {run.subruns.length > 0 && (
        <section className={css.part}>
          <h2 className={css.title}>Runs below it</h2>
          <ul className={css.subruns}>
            {run.subruns.map(({ runId, agent, status }) => (
              <li key={runId} className={css.subrun}>
                <Link href={`/runs/${runId}`}>{agent}</Link>
                <StatusBadge status={status} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {hasTags(run.metadata) && (
        <section className={css.part}>
          <h2 className={css.title}>Tags</h2>
          <Json value={run.metadata} label="Tags" />
        </section>
      )}
    </div>
  );
}

/** The same in a drawer, where the window is too narrow for a column of its own. */
Details.Drawer = function DetailsDrawer(props: {
  run: UseRun;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  return (
    <Dialog drawer open={props.open} onOpenChange={props.onOpenChange} title="Details">
      <Details run={props.run} />
    </Dialog>
  );
};

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={css.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function BudgetBar({ budget }: { budget: NonNullable<UseRun["budget"]> }) {
  return (
    <section className={css.part}>
      <h2 className={css.title}>Budget of this turn</h2>
      {budget.cost !== null && (
        <Meter
          name={`${money(budget.spentCost)} of ${money(budget.cost)}`}
          part={Number(budget.spentCost) / Number(budget.cost)}
        />
      )}
      {budget.tokens !== null && (
        <Meter
          name={`${compact(budget.spentTokens)} of ${compact(budget.tokens)} tokens`}
          part={budget.spentTokens / budget.tokens}
        />
      )}
    </section>
  );
}

function Meter({ name, part }: { name: string; part: number }) {
  return (
    <div className={css.meter}>
      <span>{name}</span>
      <meter value={Math.min(1, part)} low={0.6} high={0.9} optimum={0} aria-label={name} />
    </div>
  );
}

function hasTags(metadata: unknown): boolean {
  return typeof metadata === "object" && metadata !== null && Object.keys(metadata).length > 0;
}

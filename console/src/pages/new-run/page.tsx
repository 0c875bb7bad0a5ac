import { useRun } from "@steersman/react";
import { useEffect, useRef, useState } from "react";
import { useQuery } from "urql";
import { useLocation, useSearchParams } from "wouter";
import { problemOf } from "../../data/problem";
import { AgentCards } from "../../parts/agent-choice/agent-cards";
import { rememberUse } from "../../parts/agent-choice/last-used";
import { useChoices } from "../../parts/agent-choice/use-choices";
import { Composer, type Said } from "../../parts/composer/composer";
import { ErrorNote, Note, Page } from "../../ui";
import { BEGINNING } from "./documents";
import { faultsOf, NOTHING_TYPED, Options, optionsOf, type Typed } from "./options";
import css from "./page.module.css";

/** Where a run begins: which agent, and what it is to do. */
export default function NewRunPage() {
  const [params] = useSearchParams();
  const from = params.get("from");
  const [{ data, fetching, error }] = useQuery({
    query: BEGINNING,
    variables: { id: from ?? "" },
    pause: from === null,
  });
  const again = data?.run ?? null;
  const agent = params.get("agent") ?? again?.agent ?? null;
  if (from !== null && fetching) return <Page title="New run">{null}</Page>;
  return (
    <Page title="New run" description="Choose an agent, and say what it is to do.">
      {error && <ErrorNote title="What it began with can't be read" problem={problemOf(error)} />}
      {data && again === null && (
        <Note tone="warning" title="The run that was to be run again is not there">
          You can begin another one here.
        </Note>
      )}
      <AgentCards
        chosen={agent}
        href={(name) => `/new?agent=${encodeURIComponent(name)}${from ? `&from=${from}` : ""}`}
      />
      {agent !== null && (
        <Begin
          key={`${agent} ${from}`}
          agent={agent}
          draft={from === null ? `new:${agent}` : `new:${agent}:${from}`}
          input={again?.messages.nodes[0]?.text ?? null}
          tags={again?.metadata}
        />
      )}
    </Page>
  );
}

interface BeginProps {
  agent: string;
  /** Under which what is written is kept: apart for a run that is run again, whose words come first. */
  draft: string;
  /** What a run before it began with. */
  input: string | null;
  tags: unknown;
}

function Begin({ agent, draft, input, tags }: BeginProps) {
  const run = useRun({ agent });
  const [, navigate] = useLocation();
  const [typed, setTyped] = useState<Typed>(() => ({ ...NOTHING_TYPED, tags: tagsOf(tags) }));
  const [blocked, setBlocked] = useState(false);
  const [open, setOpen] = useState(typed.tags !== "");
  const { choices } = useChoices();
  const examples = choices.find((choice) => choice.agent === agent)?.examples ?? [];
  const field = useRef<HTMLTextAreaElement>(null);
  const faults = Object.keys(faultsOf(typed)).length;

  useEffect(() => {
    field.current?.scrollIntoView({ block: "nearest" });
  }, []);

  const start = async ({ text, attachments }: Said) => {
    if (faults > 0) {
      setBlocked(true);
      setOpen(true);
      return false;
    }
    setBlocked(false);
    const { runId, error } = await run.start(text, {
      ...optionsOf(typed),
      ...(attachments.length > 0 && { attachments }),
    });
    if (error !== null || runId === null) return false;
    rememberUse(agent);
    navigate(`/runs/${runId}`);
    return true;
  };

  return (
    <section className={css.begin} aria-label={`A run of ${agent}`}>
      {run.error && (
        <ErrorNote title="The run was not started" problem={run.error} onDismiss={run.clearError} />
      )}
      {blocked && faults > 0 && (
        <Note tone="warning" title="One of the options below needs mending first" />
      )}
      {examples.length > 0 && (
        <div className={css.examples}>
          <span className={css.try}>Try</span>
          {examples.map((example) => (
            <button
              key={example}
              type="button"
              className={css.example}
              onClick={() => void start({ text: example, attachments: [] })}
            >
              {example}
            </button>
          ))}
        </div>
      )}
      <Composer
        label={`What ${agent} is to do`}
        placeholder={`What is ${agent} to do?`}
        draft={draft}
        first={input}
        onSend={start}
        sendLabel="Start"
        field={field}
        autoFocus
      />
      <Options typed={typed} onChange={setTyped} open={open} onOpen={setOpen} />
    </section>
  );
}

function tagsOf(tags: unknown): string {
  const some = typeof tags === "object" && tags !== null && Object.keys(tags).length > 0;
  return some ? JSON.stringify(tags, null, 2) : "";
}

import { useRun } from "@steersman/react";
import { Play, RotateCcw, Square } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { useQuery } from "urql";
import { Link } from "wouter";
import { problemOf } from "../../data/problem";
import { useDeed } from "../../data/use-deed";
import { JsonArea, parsed } from "../../parts/json/json-area";
import { label } from "../../parts/words/label";
import {
  Ago,
  Badge,
  Button,
  Card,
  Empty,
  ErrorNote,
  Json,
  money,
  StatusBadge,
  TextArea,
} from "../../ui";
import { MarkdownText } from "../../ui/markdown";
import type { HistoryQuery } from "./api";
import { HISTORY, PROMPT } from "./documents";
import type { AgentRow } from "./page";
import css from "./prompt-console.module.css";

// What stands for an instruction where only an input was given.
const PLAIN = "Answer this.";

/** A place to try an agent: an instruction and an input, its answer as it is written, and what was asked before. */
export function PromptConsole({ agent, isOwn }: { agent: AgentRow; isOwn: boolean }) {
  const [instruction, setInstruction] = useState("");
  const [input, setInput] = useState("");
  const [options, setOptions] = useState("");
  const [runId, setRunId] = useState<string | null>(null);
  const [finished, setFinished] = useState<string | null>(null);
  const prompt = useDeed(PROMPT, "promptAgent");
  const override = parsed(options);
  const nothing = !instruction.trim() && !input.trim();
  const reason = nothing
    ? "Write an instruction, or an input"
    : "error" in override
      ? "The options need mending first"
      : undefined;

  const ask = async () => {
    if (reason !== undefined || "error" in override) return;
    const { payload } = await prompt.act((key) => ({
      input: {
        agent: agent.id,
        instruction: instruction.trim() || PLAIN,
        key,
        ...(input.trim() && { input: inputOf(input) }),
        ...(override.value !== null && { options: override.value }),
      },
    }));
    if (payload?.run) setRunId(payload.run.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey)) return;
    event.preventDefault();
    void ask();
  };
  return (
    <div className={css.console}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Mod+Enter in its fields */}
      <div onKeyDown={onKeyDown}>
        <Card className={css.ask}>
          <TextArea
            label="Instruction (optional)"
            rows={2}
            value={instruction}
            help="What the agent is to do."
            onChange={(event) => setInstruction(event.currentTarget.value)}
          />
          <TextArea
            label="Input (optional)"
            mono
            rows={3}
            value={input}
            help="What it is to do it with: a text, or any JSON."
            onChange={(event) => setInput(event.currentTarget.value)}
          />
          {isOwn && agent.kind.fields.length > 0 && (
            <details>
              <summary className={css.soft}>Other options, this once</summary>
              <JsonArea
                label="Options"
                rows={2}
                value={options}
                placeholder={'{"temperature": 0}'}
                help="Fields of the kind, in the place of the configuration's."
                onChange={setOptions}
              />
            </details>
          )}
          {prompt.problem && (
            <ErrorNote title="It was not asked" problem={prompt.problem} onDismiss={prompt.clear} />
          )}
          <div>
            <Button
              look="primary"
              icon={<Play />}
              busy={prompt.busy}
              reason={reason}
              onClick={() => void ask()}
            >
              Ask
            </Button>
          </div>
        </Card>
        {runId && <Answer key={runId} runId={runId} onFinish={() => setFinished(runId)} />}
      </div>
      <History
        agent={agent}
        fresh={`${runId} ${finished}`}
        onPick={(text) => {
          setInstruction(text);
          setInput("");
        }}
      />
    </div>
  );
}

/** JSON where it is JSON, else the text itself. */
function inputOf(text: string): unknown {
  const checked = parsed(text);
  return "value" in checked ? checked.value : text;
}

/** What the agent answers, as it writes it. */
function Answer({ runId, onFinish }: { runId: string; onFinish: () => void }) {
  const run = useRun({ runId, onFinish });
  const texts = run.messages
    .filter(({ role, text }) => role === "ASSISTANT" && text)
    .map(({ id, text }) => <MarkdownText key={id} text={text} />);
  const calls = run.toolCalls.map(({ id, name, state }) => (
    <Badge key={id} tone={state === "RUNNING" ? "blue" : "neutral"}>
      {label(name)}
    </Badge>
  ));
  return (
    <Card
      className={css.answer}
      title="Answer"
      aside={
        <span className={css.aside}>
          <StatusBadge status={run.status} />
          {run.isActive && (
            <Button
              small
              look="danger"
              icon={<Square />}
              busy={run.status === "cancelling"}
              onClick={() => void run.cancel()}
            >
              {run.status === "cancelling" ? "Stopping…" : "Stop"}
            </Button>
          )}
          <Link href={`/runs/${runId}`}>Open the run</Link>
        </span>
      }
    >
      {calls.length > 0 && <p className={css.calls}>{calls}</p>}
      {texts}
      {run.partial?.blocks
        .filter(({ kind }) => kind === "text")
        .map(({ index, text }) => (
          <MarkdownText key={index} text={text} streams />
        ))}
      {run.output !== null && <Json value={run.output} label="Output" />}
      {run.approvals.length > 0 && (
        <p>
          It waits for you: <Link href={`/runs/${runId}`}>decide at the run</Link>.
        </p>
      )}
      {run.error && <ErrorNote title="It failed" problem={run.error} />}
    </Card>
  );
}

type Asked = NonNullable<HistoryQuery["agent"]>["runs"]["nodes"][number];

function History(props: { agent: AgentRow; fresh: string; onPick: (text: string) => void }) {
  const { agent, fresh, onPick } = props;
  const [cursors, setCursors] = useState<Array<string | null>>([null]);
  return (
    <Card flush title="Asked before">
      {cursors.map((after, index) => (
        <HistoryPage
          key={`${after} ${index === 0 ? fresh : ""}`}
          agentId={agent.id}
          after={after}
          first={index === 0}
          onPick={onPick}
          onMore={index === cursors.length - 1 ? (next) => setCursors([...cursors, next]) : null}
        />
      ))}
    </Card>
  );
}

function HistoryPage(props: {
  agentId: string;
  after: string | null;
  first: boolean;
  onPick: (text: string) => void;
  onMore: ((after: string) => void) | null;
}) {
  const { agentId, after, first, onPick, onMore } = props;
  const [{ data, error }] = useQuery({
    query: HISTORY,
    variables: { id: agentId, after },
    requestPolicy: "cache-and-network",
  });
  if (error) return <ErrorNote title="The history can't be read" problem={problemOf(error)} />;
  const runs = data?.agent?.runs;
  if (!runs) return null;
  if (first && runs.nodes.length === 0)
    return <Empty title="Nothing was asked yet">What you ask stands here afterwards.</Empty>;
  const next = runs.pageInfo.hasNextPage ? runs.pageInfo.endCursor : null;
  return (
    <>
      <ol className={css.history}>
        {runs.nodes.map((run) => (
          <HistoryRow key={run.id} run={run} onPick={onPick} />
        ))}
      </ol>
      {onMore && next && <Button onClick={() => onMore(next)}>Older ones</Button>}
    </>
  );
}

function HistoryRow({ run, onPick }: { run: Asked; onPick: (text: string) => void }) {
  const text = run.messages.nodes[0]?.text ?? run.title ?? "";
  return (
    <li className={css.past}>
      <Link href={`/runs/${run.id}`} className={css.title}>
        {run.title ?? "Untitled run"}
      </Link>
      <span className={css.figures}>
        <StatusBadge status={run.status} />
        <span>{money(run.usage.cost)}</span>
        <Ago time={run.createdAt} />
        <Button
          small
          look="quiet"
          icon={<RotateCcw />}
          aria-label={`Ask again: ${run.title}`}
          title="Ask again"
          onClick={() => onPick(text)}
        />
      </span>
    </li>
  );
}

import { CalendarClock, Plus, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useQuery } from "urql";
import { Link } from "wouter";
import { problemOf } from "../../data/problem";
import { useDeed } from "../../data/use-deed";
import { useChoices } from "../../parts/agent-choice/use-choices";
import { useViewer } from "../../session/viewer";
import {
  Badge,
  Button,
  Card,
  Confirm,
  Dialog,
  Empty,
  ErrorNote,
  fullTime,
  SelectField,
  Skeleton,
  StatusBadge,
  TextArea,
  TextField,
} from "../../ui";
import type { SchedulesQuery } from "./api";
import { CREATE_SCHEDULE, DELETE_SCHEDULE, SCHEDULES } from "./documents";
import css from "./page.module.css";

type ScheduleRow = SchedulesQuery["schedules"]["nodes"][number];

/** What is said to agents again and again; of one agent, where `agent` names it. */
export function Schedules({ agent }: { agent: string | null }) {
  const [{ data, error }] = useQuery({ query: SCHEDULES, requestPolicy: "cache-and-network" });
  const [adds, setAdds] = useState(false);
  const [leaves, setLeaves] = useState<ScheduleRow | null>(null);
  const remove = useDeed(DELETE_SCHEDULE, "deleteSchedule");
  if (error) return <ErrorNote title="The schedules can't be read" problem={problemOf(error)} />;
  if (!data) return <Skeleton />;
  const nodes = data.schedules.nodes.filter((each) => agent === null || each.agent === agent);
  return (
    <div className={css.part}>
      <div className={css.head}>
        <p>At each tick the agent is told the input, in a run of its own.</p>
        <Button look="primary" icon={<Plus />} onClick={() => setAdds(true)}>
          New schedule
        </Button>
      </div>
      {remove.problem && (
        <ErrorNote title="It was not removed" problem={remove.problem} onDismiss={remove.clear} />
      )}
      <Card flush>
        {nodes.length === 0 ? (
          <Empty icon={<CalendarClock />} title="No schedules">
            Have an agent do something every morning, or every hour.
          </Empty>
        ) : (
          <ul className={css.items}>
            {nodes.map((schedule) => (
              <Row key={schedule.id} schedule={schedule} onRemove={() => setLeaves(schedule)} />
            ))}
          </ul>
        )}
      </Card>
      <NewSchedule agent={agent} open={adds} onClose={() => setAdds(false)} />
      <Confirm
        open={leaves !== null}
        onOpenChange={(open) => !open && setLeaves(null)}
        danger
        title="Remove this schedule?"
        description="Runs that it has begun stay, and go on."
        confirm="Remove"
        onConfirm={async () => {
          if (leaves) await remove.act(() => ({ input: { id: leaves.id } }));
        }}
      />
    </div>
  );
}

function Row({ schedule, onRemove }: { schedule: ScheduleRow; onRemove: () => void }) {
  const viewer = useViewer();
  const { agent, input, cron, timeZone, nextAt, lastRun, lastError, userId } = schedule;
  return (
    <li className={css.item}>
      <span className={css.about}>
        <span className={css.name}>
          {agent}: {input}
        </span>
        <span className={css.soft}>
          <span className={css.code}>{cron}</span> by the clock of {timeZone}
          {nextAt ? `, next ${fullTime(nextAt)}` : ""}
        </span>
        {lastError && <span className={css.failed}>{lastError}</span>}
      </span>
      {!nextAt && <Badge>Ended</Badge>}
      {userId !== viewer.id && <Badge tone="violet">As {userId}</Badge>}
      {lastRun && (
        <>
          <Link href={`/runs/${lastRun.id}`}>Last run</Link>
          <StatusBadge status={lastRun.status} />
        </>
      )}
      <Button
        small
        look="quiet"
        icon={<Trash2 />}
        aria-label={`Remove the schedule ${cron} of ${agent}`}
        onClick={onRemove}
      />
    </li>
  );
}

const EXAMPLES = [
  ["0 9 * * MON-FRI", "weekdays at 9"],
  ["@hourly", "every hour"],
  ["@daily", "every midnight"],
  ["*/15 * * * *", "every quarter of an hour"],
  ["0 8 1 * *", "the first of the month at 8"],
] as const;

function NewSchedule(props: { agent: string | null; open: boolean; onClose: () => void }) {
  const { open, onClose } = props;
  const { choices } = useChoices();
  const [agent, setAgent] = useState(props.agent ?? "");
  const [input, setInput] = useState("");
  const [cron, setCron] = useState("0 9 * * MON-FRI");
  const [timeZone, setTimeZone] = useState(
    () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
  );
  const create = useDeed(CREATE_SCHEDULE, "createSchedule");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const { payload } = await create.act((key) => ({
      input: { agent: agent || (choices[0]?.agent ?? ""), input, cron, timeZone, key },
    }));
    if (!payload?.schedule) return;
    setInput("");
    onClose();
  };
  const wrong = (field: string) => (create.field === field ? create.problem?.message : undefined);
  return (
    <Dialog open={open} onOpenChange={(next) => !next && onClose()} title="New schedule">
      <form className={css.form} onSubmit={(event) => void submit(event)}>
        {create.problem && (
          <ErrorNote title="The schedule was not created" problem={create.problem} />
        )}
        <SelectField
          label="Agent"
          value={agent || choices[0]?.agent}
          disabled={props.agent !== null}
          onChange={(event) => setAgent(event.currentTarget.value)}
        >
          {props.agent !== null && <option>{props.agent}</option>}
          {choices.map(({ agent: name }) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
        <TextArea
          label="What to say"
          required
          value={input}
          error={wrong("input")}
          onChange={(event) => setInput(event.currentTarget.value)}
        />
        <TextField
          label="When"
          required
          list="crons"
          value={cron}
          error={wrong("cron")}
          help="Minute, hour, day of the month, month, day of the week."
          onChange={(event) => setCron(event.currentTarget.value)}
        />
        <datalist id="crons">
          {EXAMPLES.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </datalist>
        <TextField
          label="By the clock of"
          required
          value={timeZone}
          error={wrong("timeZone")}
          help="A time zone, such as Europe/Berlin."
          onChange={(event) => setTimeZone(event.currentTarget.value)}
        />
        <div className={css.head}>
          <span />
          <Button type="submit" look="primary" busy={create.busy}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

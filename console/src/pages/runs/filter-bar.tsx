import type { FinishReason, RunStatus } from "@steersman/react";
import { SlidersHorizontal, X } from "lucide-react";
import { useEffect, useState } from "react";
import { Button, cx, SelectField, Switch, statusWord, TextField } from "../../ui";
import css from "./filter-bar.module.css";
import { FINISHES, type Filters, isFiltered, NO_FILTERS, STATUSES } from "./filters";

interface FilterBarProps {
  filters: Filters;
  /** Names that stand in the list, to choose from. */
  agents: string[];
  /** Whether the viewer may look at the runs of all users. */
  isAdmin: boolean;
  onChange: (filters: Filters) => void;
}

// While somebody types, the list is not asked for at each letter.
const PAUSE_MS = 250;

/** What the list is narrowed to; all of it stands in the address. */
export function FilterBar({ filters, agents, isAdmin, onChange }: FilterBarProps) {
  const { finish, from, to, owner } = filters;
  const [open, setOpen] = useState(finish.length > 0 || [from, to, owner].some(Boolean));
  const names = [...new Set([...agents, filters.agent])].filter(Boolean).sort();
  const toggle = (status: RunStatus) => {
    const on = filters.status.includes(status);
    const next = on
      ? filters.status.filter((each) => each !== status)
      : [...filters.status, status];
    onChange({ ...filters, status: next });
  };
  return (
    <search className={css.bar}>
      <fieldset className={css.statuses}>
        <legend className="sr-only">Status</legend>
        {STATUSES.map((status) => (
          <button
            key={status}
            type="button"
            className={cx(css.chip, filters.status.includes(status) && css.on)}
            aria-pressed={filters.status.includes(status)}
            onClick={() => toggle(status)}
          >
            {statusWord(status)}
          </button>
        ))}
      </fieldset>
      <Search
        label="Search titles"
        marked
        value={filters.search}
        onChange={(search) => onChange({ ...filters, search })}
      />
      <SelectField
        label="Agent"
        hideLabel
        className={css.agent}
        value={filters.agent}
        onChange={(event) => onChange({ ...filters, agent: event.currentTarget.value })}
      >
        <option value="">All agents</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </SelectField>
      {isAdmin && (
        <Switch
          label="Everyone"
          checked={filters.everyone}
          onChange={(everyone) => onChange({ ...filters, everyone, owner: "" })}
        />
      )}
      <Switch
        label="Sub-runs"
        checked={filters.subruns}
        onChange={(subruns) => onChange({ ...filters, subruns })}
      />
      <Button
        look="quiet"
        small
        icon={<SlidersHorizontal />}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        More
      </Button>
      {isFiltered(filters) && (
        <Button
          look="quiet"
          small
          icon={<X />}
          onClick={() => {
            const { everyone, subruns } = filters;
            onChange({ ...NO_FILTERS, everyone, subruns });
          }}
        >
          Clear
        </Button>
      )}
      {open && <More filters={filters} isAdmin={isAdmin} onChange={onChange} />}
    </search>
  );
}

/** What is looked for less often. */
function More({ filters, isAdmin, onChange }: Omit<FilterBarProps, "agents">) {
  return (
    <div className={css.more}>
      <SelectField
        label="Finish"
        className={css.agent}
        value={filters.finish[0] ?? ""}
        onChange={(event) => {
          const finish = event.currentTarget.value as FinishReason | "";
          onChange({ ...filters, finish: finish ? [finish] : [] });
        }}
      >
        <option value="">Any finish</option>
        {FINISHES.map((finish) => (
          <option key={finish} value={finish}>
            {finish.toLowerCase().replace("_", " ")}
          </option>
        ))}
      </SelectField>
      <Day
        label="Begun from"
        value={filters.from}
        onChange={(from) => onChange({ ...filters, from })}
      />
      <Day label="Begun to" value={filters.to} onChange={(to) => onChange({ ...filters, to })} />
      {isAdmin && filters.everyone && (
        <Search
          label="Owner"
          value={filters.owner}
          onChange={(owner) => onChange({ ...filters, owner })}
        />
      )}
    </div>
  );
}

/** A day, of the browser's own calendar. */
function Day(props: { label: string; value: string; onChange: (value: string) => void }) {
  const { label, value, onChange } = props;
  return (
    <TextField
      label={label}
      type="date"
      className={css.day}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface SearchProps {
  label: string;
  value: string;
  /** Whether the key of the search leads here. */
  marked?: boolean;
  onChange: (value: string) => void;
}

function Search({ label, value, marked = false, onChange }: SearchProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <TextField
      label={label}
      hideLabel
      className={css.search}
      type="search"
      placeholder={label}
      data-search={marked || undefined}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}

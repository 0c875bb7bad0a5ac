import type { RunStatus } from "@steersman/react";
import { X } from "lucide-react";
import { useEffect, useState } from "react";
import { Button, cx, SelectField, Switch, statusWord, TextField } from "../../ui";
import css from "./filter-bar.module.css";
import { type Filters, isFiltered, STATUSES } from "./filters";

interface FilterBarProps {
  filters: Filters;
  /** Names that stand in the list, to choose from. */
  agents: string[];
  onChange: (filters: Filters) => void;
}

// While somebody types, the list is not asked for at each letter.
const PAUSE_MS = 250;

/** What the list is narrowed to; all of it stands in the address. */
export function FilterBar({ filters, agents, onChange }: FilterBarProps) {
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
      <Search value={filters.search} onChange={(search) => onChange({ ...filters, search })} />
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
      <Switch
        label="Sub-runs"
        checked={filters.subruns}
        onChange={(subruns) => onChange({ ...filters, subruns })}
      />
      {isFiltered(filters) && (
        <Button
          look="quiet"
          small
          icon={<X />}
          onClick={() => onChange({ ...filters, status: [], agent: "", search: "" })}
        >
          Clear
        </Button>
      )}
    </search>
  );
}

function Search({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <TextField
      label="Search titles"
      hideLabel
      className={css.search}
      type="search"
      placeholder="Search titles"
      data-search
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}

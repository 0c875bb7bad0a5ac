import type { StartOptions } from "@steersman/react";
import { JsonArea, parsed } from "../../parts/json/json-area";
import { TextField } from "../../ui";
import css from "./options.module.css";

/** What one may say of a run beside its input, as it was typed. */
export interface Typed {
  title: string;
  cost: string;
  tokens: string;
  tags: string;
}

export const NOTHING_TYPED: Typed = { title: "", cost: "", tokens: "", tags: "" };

/** What is wrong with what was typed, by field. */
export function faultsOf({ cost, tokens, tags }: Typed): Partial<Record<keyof Typed, string>> {
  const checked = parsed(tags);
  const isObject =
    "value" in checked &&
    (checked.value === null ||
      (typeof checked.value === "object" && !Array.isArray(checked.value)));
  return {
    ...(cost && !isAmount(cost) && { cost: "An amount above 0, such as 0.50" }),
    ...(tokens && !/^[1-9]\d*$/.test(tokens) && { tokens: "A whole number from 1" }),
    ...("error" in checked ? {} : isObject ? {} : { tags: 'An object, such as {"team": "blue"}' }),
    ...("error" in checked && { tags: checked.error }),
  };
}

function isAmount(text: string): boolean {
  return /^\d+(\.\d+)?$/.test(text) && Number(text) > 0;
}

/** The same for `start`. */
export function optionsOf({ title, cost, tokens, tags }: Typed): StartOptions {
  const checked = parsed(tags);
  const metadata = "value" in checked ? checked.value : null;
  const budget = { ...(cost && { cost }), ...(tokens && { tokens: Number(tokens) }) };
  return {
    ...(title.trim() && { title: title.trim() }),
    ...(Object.keys(budget).length > 0 && { budget }),
    ...(metadata !== null && { metadata }),
  };
}

interface OptionsProps {
  typed: Typed;
  onChange: (typed: Typed) => void;
  /** Whether they are unfolded. */
  open: boolean;
  onOpen: (open: boolean) => void;
}

/** The fields, folded until somebody wants them. */
export function Options({ typed, onChange, open, onOpen }: OptionsProps) {
  const faults = faultsOf(typed);
  const set = (more: Partial<Typed>) => onChange({ ...typed, ...more });
  return (
    <details
      className={css.options}
      open={open}
      onToggle={(event) => onOpen(event.currentTarget.open)}
    >
      <summary>More options</summary>
      <div className={css.fields}>
        <TextField
          label="Title"
          maxLength={255}
          value={typed.title}
          help="Cut from what you say where it is left empty."
          onChange={(event) => set({ title: event.currentTarget.value })}
        />
        <TextField
          label="Budget in USD"
          inputMode="decimal"
          value={typed.cost}
          error={faults.cost}
          help="What this turn may spend at most."
          onChange={(event) => set({ cost: event.currentTarget.value })}
        />
        <TextField
          label="Budget in tokens"
          inputMode="numeric"
          value={typed.tokens}
          error={faults.tokens}
          onChange={(event) => set({ tokens: event.currentTarget.value })}
        />
        <JsonArea
          label="Tags (JSON)"
          rows={2}
          value={typed.tags}
          error={faults.tags}
          help="Yours to find the run by; the agent does not read them."
          onChange={(tags) => set({ tags })}
        />
      </div>
    </details>
  );
}

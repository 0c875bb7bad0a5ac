import { Json } from "../../ui";
import { label } from "../words/label";
import css from "./arguments.module.css";

type Plain = string | number | boolean | null;

/** The arguments of a call: as a list where they are plain values, else as JSON. */
export function Arguments({ input }: { input: unknown }) {
  const plain = entries(input);
  if (plain === null) return <Json value={input} label="Arguments" />;
  if (plain.length === 0) return <p className={css.none}>Without arguments</p>;
  return (
    <dl className={css.list}>
      {plain.map(([name, value]) => (
        <div key={name} className={css.row}>
          <dt>{label(name)}</dt>
          <dd>{String(value ?? "–")}</dd>
        </div>
      ))}
    </dl>
  );
}

function entries(input: unknown): Array<[string, Plain]> | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const all = Object.entries(input);
  const isPlain = all.every(([, value]) => value === null || typeof value !== "object");
  return isPlain && all.length <= 12 ? (all as Array<[string, Plain]>) : null;
}

import { type ComponentProps, type ReactNode, useId } from "react";
import { cx } from "./cx";
import css from "./field.module.css";

interface FieldProps {
  label: ReactNode;
  /** What to write there, below the field. */
  help?: ReactNode;
  /** What is wrong with what was written; read out when it comes. */
  error?: string | null | undefined;
  /** The label is read out, and not shown. */
  hideLabel?: boolean;
  /** Beside the label, at its right. */
  aside?: ReactNode;
  className?: string | undefined;
  /** Gets what ties the control to its label, help and error. */
  children: (ties: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
}

/** A label, a control, and what is said of it. */
export function Field(props: FieldProps) {
  const { label, help, error, hideLabel = false, aside, className, children } = props;
  const id = useId();
  const about = [error && `${id}-error`, help && `${id}-help`].filter(Boolean).join(" ");
  return (
    <div className={cx(css.field, className)}>
      <div className={hideLabel && !aside ? "sr-only" : css.labelling}>
        <label htmlFor={id} className={hideLabel ? "sr-only" : css.label}>
          {label}
        </label>
        {aside}
      </div>
      {children({
        id,
        ...(about && { "aria-describedby": about }),
        ...(error && { "aria-invalid": true as const }),
      })}
      {error && (
        <p id={`${id}-error`} role="alert" className={css.error}>
          {error}
        </p>
      )}
      {help && (
        <div id={`${id}-help`} className={css.help}>
          {help}
        </div>
      )}
    </div>
  );
}

type Said = Omit<FieldProps, "children">;
type Own<Tag extends "input" | "textarea" | "select"> = Omit<ComponentProps<Tag>, "id">;

function parted<Rest>(props: Said & Rest): [Said, Omit<Rest, keyof Said>] {
  const { label, help, error, hideLabel, aside, className, ...rest } = props;
  const said = { label, help, error, aside, className, ...(hideLabel && { hideLabel }) };
  return [said, rest as Omit<Rest, keyof Said>];
}

/** One line of text. */
export function TextField(props: Said & Own<"input">) {
  const [said, rest] = parted(props);
  return <Field {...said}>{(ties) => <input className={css.control} {...rest} {...ties} />}</Field>;
}

/** Several lines of text; it grows with what is written. */
export function TextArea(props: Said & Own<"textarea"> & { mono?: boolean }) {
  const [said, { mono, ...rest }] = parted(props);
  return (
    <Field {...said}>
      {(ties) => (
        <textarea
          rows={3}
          className={cx(css.control, css.area, mono && css.mono)}
          {...rest}
          {...ties}
        />
      )}
    </Field>
  );
}

/** One of a few values, by the browser's own list. Its options are its children. */
export function SelectField(props: Said & Own<"select">) {
  const [said, rest] = parted(props);
  return (
    <Field {...said}>
      {(ties) => <select className={cx(css.control, css.select)} {...rest} {...ties} />}
    </Field>
  );
}

import type { ComponentProps, ReactNode } from "react";
import css from "./button.module.css";
import { cx } from "./cx";
import { Tooltip } from "./tooltip";

type Look = "plain" | "primary" | "danger" | "quiet";

interface ButtonProps extends ComponentProps<"button"> {
  look?: Look;
  small?: boolean;
  icon?: ReactNode;
  /** Says what is under way; the button keeps its focus, and does nothing meanwhile. */
  busy?: boolean;
  /** Why it can't be pressed: shown and read out, and the button stays in reach of the keyboard. */
  reason?: string | undefined;
}

/** A button. One that can't be pressed says why, by `reason`. */
export function Button(props: ButtonProps) {
  const {
    look = "plain",
    small,
    icon,
    busy = false,
    reason,
    className,
    children,
    onClick,
    ...rest
  } = props;
  const off = busy || reason !== undefined;
  const button = (
    <button
      type="button"
      {...rest}
      className={cx(css.button, css[look], small && css.small, !children && css.square, className)}
      aria-disabled={off || undefined}
      aria-busy={busy || undefined}
      onClick={off ? (event) => event.preventDefault() : onClick}
    >
      {busy ? <span className={css.spinner} aria-hidden="true" /> : icon}
      {children}
    </button>
  );
  return reason === undefined ? button : <Tooltip text={reason}>{button}</Tooltip>;
}

/** A button that is an icon alone; `label` is its name, shown on hover. */
export function IconButton({
  label,
  icon,
  ...rest
}: Omit<ButtonProps, "children" | "reason"> & { label: string; icon: ReactNode }) {
  return (
    <Tooltip text={label}>
      <Button look="quiet" aria-label={label} icon={icon} {...rest} />
    </Tooltip>
  );
}

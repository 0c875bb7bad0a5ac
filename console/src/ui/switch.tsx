import { Switch as Base } from "@base-ui/react/switch";
import type { ReactNode } from "react";
import { cx } from "./cx";
import css from "./switch.module.css";

interface SwitchProps {
  checked: boolean;
  onChange: (checked: boolean) => void;
  label: ReactNode;
  hideLabel?: boolean;
  /** Its whole name for those who hear the page, where the label alone does not say it. */
  name?: string;
}

/** Something that is on or off, at once. */
export function Switch({ checked, onChange, label, hideLabel = false, name }: SwitchProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the switch below is the control that it labels
    <label className={css.row}>
      <Base.Root
        checked={checked}
        onCheckedChange={onChange}
        className={css.track}
        aria-label={name}
      >
        <Base.Thumb className={css.thumb} />
      </Base.Root>
      <span className={cx(hideLabel && "sr-only")}>{label}</span>
    </label>
  );
}

import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import { cx } from "./cx";
import css from "./menu.module.css";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  danger?: boolean;
  /** Why it can't be chosen. */
  reason?: string | undefined;
  onSelect: () => void;
}

/** A list of things to do, opened by the button `trigger`. */
export function Menu({ trigger, items }: { trigger: ReactElement; items: MenuItem[] }) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className={css.place}>
          <Base.Popup className={css.popup}>
            {items.map(({ label, icon, danger, reason, onSelect }) => (
              <Base.Item
                key={label}
                className={cx(css.item, danger && css.danger)}
                disabled={reason !== undefined}
                title={reason}
                onClick={onSelect}
              >
                {icon}
                {label}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

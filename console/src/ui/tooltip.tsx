import { Tooltip as Base } from "@base-ui/react/tooltip";
import type { ReactElement } from "react";
import css from "./tooltip.module.css";

/** Says more about the one element below it, on hover and on focus. */
export function Tooltip({ text, children }: { text: string; children: ReactElement }) {
  return (
    <Base.Root>
      <Base.Trigger render={children} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className={css.place}>
          <Base.Popup className={css.tip}>{text}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

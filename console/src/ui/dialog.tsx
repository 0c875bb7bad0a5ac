import { AlertDialog as BaseAlert } from "@base-ui/react/alert-dialog";
import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "./button";
import { cx } from "./cx";
import css from "./dialog.module.css";

interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  /** A sentence below the title. */
  description?: ReactNode;
  children?: ReactNode;
  /** Buttons at the bottom. */
  actions?: ReactNode;
  wide?: boolean;
  /** Slides in from the right and leaves the page usable beside it. */
  drawer?: boolean;
}

/** A window above the page: it takes the focus and gives it back, and Escape closes it. */
export function Dialog(props: DialogProps) {
  const { open, onOpenChange, title, description, children, actions, wide, drawer = false } = props;
  return (
    <Base.Root open={open} onOpenChange={onOpenChange} modal={!drawer}>
      <Base.Portal>
        {!drawer && <Base.Backdrop className={css.backdrop} />}
        <Base.Popup className={cx(css.popup, drawer ? css.drawer : css.middle, wide && css.wide)}>
          <header className={css.head}>
            <Base.Title className={css.title}>{title}</Base.Title>
            <Base.Close
              render={<Button look="quiet" small icon={<X />} aria-label="Close" title="Close" />}
            />
          </header>
          {description && (
            <Base.Description className={css.description}>{description}</Base.Description>
          )}
          <div className={css.body}>{children}</div>
          {actions && <footer className={css.actions}>{actions}</footer>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface ConfirmProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description: ReactNode;
  /** What the button that does it says. */
  confirm: string;
  danger?: boolean;
  /** Closes the window when it has resolved. */
  onConfirm: () => void | Promise<void>;
}

/** Asks before something that can't be taken back. */
export function Confirm(props: ConfirmProps) {
  const { open, onOpenChange, title, description, confirm, danger = false, onConfirm } = props;
  const [busy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    try {
      await onConfirm();
      onOpenChange(false);
    } finally {
      setBusy(false);
    }
  };
  return (
    <BaseAlert.Root open={open} onOpenChange={onOpenChange}>
      <BaseAlert.Portal>
        <BaseAlert.Backdrop className={css.backdrop} />
        <BaseAlert.Popup className={cx(css.popup, css.middle)}>
          <BaseAlert.Title className={css.title}>{title}</BaseAlert.Title>
          <BaseAlert.Description className={css.description} render={<div />}>
            {description}
          </BaseAlert.Description>
          <footer className={css.actions}>
            <BaseAlert.Close render={<Button>Cancel</Button>} />
            <Button look={danger ? "danger" : "primary"} busy={busy} onClick={() => void act()}>
              {confirm}
            </Button>
          </footer>
        </BaseAlert.Popup>
      </BaseAlert.Portal>
    </BaseAlert.Root>
  );
}

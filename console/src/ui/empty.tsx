import type { ReactNode } from "react";
import css from "./empty.module.css";

/** What stands where there is nothing: why, and what to do. */
export function Empty(props: {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  const { icon, title, children, actions } = props;
  return (
    <div className={css.empty}>
      {icon && <div className={css.icon}>{icon}</div>}
      <p className={css.title}>{title}</p>
      {children && <div className={css.said}>{children}</div>}
      {actions && <div className={css.actions}>{actions}</div>}
    </div>
  );
}

/** Grey bars where something is on its way. */
export function Skeleton({ rows = 3 }: { rows?: number }) {
  return (
    <div className={css.skeleton} role="status">
      <span className="sr-only">Loading</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars that are all the same
        <span key={row} className={css.bar} aria-hidden="true" />
      ))}
    </div>
  );
}

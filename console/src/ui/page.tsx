import { type ReactNode, useEffect } from "react";
import { cx } from "./cx";
import css from "./page.module.css";
import { nameTab } from "./tab-title";

interface PageProps {
  /** The heading, and the name of the browser's tab. */
  title: string;
  /** In the place of the title on the page, where that is more than a text. */
  heading?: ReactNode;
  /** Above the title: where one comes from. */
  above?: ReactNode;
  /** Below the title, in a line. */
  description?: ReactNode;
  actions?: ReactNode;
  /** As tall as the window: what is in it scrolls by itself. */
  fill?: boolean;
  children: ReactNode;
}

/** A page of the console: its head, and what it shows. */
export function Page({ title, heading, above, description, actions, fill, children }: PageProps) {
  useEffect(() => nameTab(title), [title]);
  return (
    <div className={cx(css.page, fill && css.fill)}>
      <header className={css.head}>
        <div className={css.titles}>
          {above && <div className={css.above}>{above}</div>}
          {/* The focus comes here when a page is opened. */}
          <h1 tabIndex={-1} data-page-title className={css.title}>
            {heading ?? title}
          </h1>
          {description && <div className={css.description}>{description}</div>}
        </div>
        {actions && <div className={css.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

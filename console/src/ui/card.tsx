import type { ComponentProps, ReactNode } from "react";
import css from "./card.module.css";
import { cx } from "./cx";

/** A framed part of a page, with a heading where `title` is given. */
export function Card(
  props: Omit<ComponentProps<"section">, "title"> & {
    title?: ReactNode;
    aside?: ReactNode;
    flush?: boolean;
  },
) {
  const { title, aside, flush, className, children, ...rest } = props;
  return (
    <section
      {...(typeof title === "string" && { "aria-label": title })}
      {...rest}
      className={cx(css.card, flush && css.flush, className)}
    >
      {(title || aside) && (
        <header className={css.head}>
          {title && <h2 className={css.title}>{title}</h2>}
          {aside}
        </header>
      )}
      {children}
    </section>
  );
}

import { type ComponentProps, useEffect, useRef, useState } from "react";
import { cx } from "./cx";
import css from "./scrolling.module.css";

/** A part of a page that scrolls by itself. Where there is more than fits, the keyboard reaches it too, by its name. */
export function Scrolling({
  label,
  className,
  ...rest
}: ComponentProps<"section"> & { label: string }) {
  const part = useRef<HTMLElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useEffect(() => {
    const element = part.current;
    if (element === null) return;
    const look = () =>
      setScrolls(
        element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight,
      );
    const observer = new ResizeObserver(look);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    look();
    return () => observer.disconnect();
  }, []);
  return (
    <section
      {...rest}
      ref={part}
      className={cx(css.scrolling, className)}
      {...(scrolls && { tabIndex: 0, "aria-label": label })}
    />
  );
}

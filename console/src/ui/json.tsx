import { useState } from "react";
import { Button } from "./button";
import { CopyButton } from "./copy";
import { count } from "./figures";
import css from "./json.module.css";
import { Scrolling } from "./scrolling";

// What a card shows of a long value before somebody asks for all of it.
const SHOWN = 4_000;

/** A JSON value, or a text, to read and to copy; long ones are cut, with a way to see all. */
export function Json({ value, label }: { value: unknown; label: string }) {
  const [whole, setWhole] = useState(false);
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const cut = !whole && text.length > SHOWN;
  return (
    <div className={css.box}>
      <div className={css.tools}>
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
      <Scrolling label={label} className={css.scroll}>
        <pre className={css.text}>{cut ? `${text.slice(0, SHOWN)}…` : text}</pre>
      </Scrolling>
      {cut && (
        <Button small onClick={() => setWhole(true)}>
          Show all {count(text.length)} characters
        </Button>
      )}
    </div>
  );
}

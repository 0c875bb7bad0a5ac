import { useEffect, useRef, useState } from "react";
import { Dialog, Kbd, Switch } from "../ui";
import css from "./shortcuts.module.css";

/** A key, or two in a row ("g r"), or one with Mod ("Mod+Enter"), and what it does. */
export interface Shortcut {
  keys: string;
  label: string;
  run: () => void;
}

const KEY = "steersman:shortcuts";
const groups = new Map<object, { title: string; shortcuts: Shortcut[] }>();
let pending = "";

/** Has keys do something for as long as the component is shown; the sheet on `?` lists them under `title`. */
export function useShortcuts(title: string, shortcuts: Shortcut[]): void {
  const id = useRef({});
  useEffect(() => {
    const group = id.current;
    groups.set(group, { title, shortcuts });
    return () => {
      groups.delete(group);
    };
  });
}

/** Single keys can be switched off, for those whose software types them. */
function singleKeys(): boolean {
  return localStorage.getItem(KEY) !== "off";
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

function pressed(event: KeyboardEvent): Shortcut | undefined {
  const all = [...groups.values()].flatMap(({ shortcuts }) => shortcuts);
  if (event.metaKey || event.ctrlKey)
    return all.find(({ keys }) => keys.toLowerCase() === `mod+${event.key.toLowerCase()}`);
  if (event.altKey || isTyping(event.target) || !singleKeys()) return undefined;
  const sequence = pending ? `${pending} ${event.key}` : event.key;
  pending = all.some(({ keys }) => keys.startsWith(`${sequence} `)) ? sequence : "";
  return all.find(({ keys }) => keys === sequence) ?? all.find(({ keys }) => keys === event.key);
}

/** Listens to the keyboard for all shortcuts, and shows them on `?`. Once on the page. */
export function Shortcuts() {
  const [open, setOpen] = useState(false);
  useShortcuts("Everywhere", [{ keys: "?", label: "Show this sheet", run: () => setOpen(true) }]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const shortcut = pressed(event);
      if (shortcut === undefined) return;
      event.preventDefault();
      shortcut.run();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <Dialog open={open} onOpenChange={setOpen} title="Keyboard shortcuts" wide>
      <Sheet />
    </Dialog>
  );
}

function Sheet() {
  const [on, setOn] = useState(singleKeys);
  const choose = (next: boolean) => {
    localStorage.setItem(KEY, next ? "on" : "off");
    setOn(next);
  };
  const titles = [...new Set([...groups.values()].map(({ title }) => title))];
  return (
    <>
      <div className={css.groups}>
        {titles.map((title) => (
          <section key={title}>
            <h3 className={css.title}>{title}</h3>
            <dl className={css.list}>
              {[...groups.values()]
                .filter((group) => group.title === title)
                .flatMap(({ shortcuts }) => shortcuts)
                .map(({ keys, label }) => (
                  <div key={keys} className={css.row}>
                    <dt>{label}</dt>
                    <dd className={css.keys}>
                      {keys.split(/[ +]/).map((key) => (
                        <Kbd key={key} keys={key} />
                      ))}
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
      <div className={css.foot}>
        <Switch checked={on} onChange={choose} label="Shortcuts of a single key" />
      </div>
    </>
  );
}

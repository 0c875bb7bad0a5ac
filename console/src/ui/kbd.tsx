import css from "./kbd.module.css";

/** Keys to press: "Mod" is ⌘ on a Mac, else Ctrl. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <kbd className={css.kbd}>
      {keys.replace("Mod", /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl")}
    </kbd>
  );
}

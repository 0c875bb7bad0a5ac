import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "steersman:theme";
const listeners = new Set<() => void>();

/** The theme that was chosen in this browser. */
export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Chooses the theme, for all tabs. */
export function chooseTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  applyTheme();
}

/** Gives the page the chosen theme, and follows other tabs. Called once, before the page is shown. */
export function startTheme(): void {
  applyTheme();
  addEventListener("storage", ({ key }) => key === KEY && applyTheme());
}

function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  for (const listener of listeners) listener();
}

/** The chosen theme, live. */
export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, chosenTheme);
}

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { type Shortcut, Shortcuts, useShortcuts } from "../src/app/shortcuts";

afterEach(() => {
  cleanup();
  localStorage.clear();
});

function Place({ shortcuts }: { shortcuts: Shortcut[] }) {
  useShortcuts("This page", shortcuts);
  return <input aria-label="Say" />;
}

function shown(...keys: string[]) {
  const run = Object.fromEntries(keys.map((each) => [each, vi.fn()]));
  const shortcuts = keys.map((each) => ({
    keys: each,
    label: `Do ${each}`,
    run: () => run[each]?.(),
  }));
  const view = render(
    <>
      <Shortcuts />
      <Place shortcuts={shortcuts} />
    </>,
  );
  return { run, ...view };
}

function press(key: string, more: KeyboardEventInit = {}, target: Element = document.body) {
  fireEvent.keyDown(target, { key, ...more });
}

test("a key does what is said of it", () => {
  const { run } = shown("n", "Mod+Enter");
  press("n");
  expect(run.n).toHaveBeenCalledOnce();
  press("Enter", { metaKey: true });
  press("Enter", { ctrlKey: true });
  expect(run["Mod+Enter"]).toHaveBeenCalledTimes(2);
});

test("two keys in a row do one thing, and a wrong second key nothing of it", () => {
  const { run } = shown("g r", "r");
  press("g");
  press("x");
  press("r");
  expect(run["g r"]).not.toHaveBeenCalled();
  expect(run.r).toHaveBeenCalledOnce();
  press("g");
  press("r");
  expect(run["g r"]).toHaveBeenCalledOnce();
});

test("who writes is left alone, except for keys with Ctrl or Command", () => {
  const { run } = shown("n", "Mod+Enter");
  const field = screen.getByLabelText("Say");
  press("n", {}, field);
  expect(run.n).not.toHaveBeenCalled();
  press("Enter", { ctrlKey: true }, field);
  expect(run["Mod+Enter"]).toHaveBeenCalledOnce();
});

test("a page's keys go with the page", () => {
  const { run, rerender } = shown("n");
  rerender(<Shortcuts />);
  press("n");
  expect(run.n).not.toHaveBeenCalled();
});

test("the sheet on ? has every key, and single keys can be switched off there", async () => {
  const { run } = shown("n");
  press("?");
  await screen.findByText("Do n");
  fireEvent.click(screen.getByText("Shortcuts of a single key"));
  press("n");
  expect(run.n).not.toHaveBeenCalled();
});

import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Composer, type Said } from "../src/parts/composer/composer";

beforeEach(() => {
  // A machine with a keyboard.
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
});

afterEach(() => {
  cleanup();
  sessionStorage.clear();
  vi.unstubAllGlobals();
});

function shown(onSend: (said: Said) => Promise<boolean> | undefined, onInterrupt?: typeof onSend) {
  render(
    <Composer
      label="Say"
      placeholder="Say it"
      draft="test"
      onSend={onSend}
      onInterrupt={onInterrupt}
    />,
  );
  return screen.getByLabelText<HTMLTextAreaElement>("Say");
}

const write = (field: HTMLElement, value: string) => fireEvent.change(field, { target: { value } });

test("Enter sends, Shift+Enter does not, and nothing is sent where nothing was written", () => {
  const send = vi.fn();
  const field = shown(send);
  fireEvent.keyDown(field, { key: "Enter" });
  write(field, "  ");
  fireEvent.keyDown(field, { key: "Enter" });
  write(field, "Hello");
  fireEvent.keyDown(field, { key: "Enter", shiftKey: true });
  expect(send).not.toHaveBeenCalled();
  fireEvent.keyDown(field, { key: "Enter" });
  expect(send).toHaveBeenCalledExactlyOnceWith({ text: "Hello", attachments: [] });
  expect(field.value).toBe("");
});

test("where Enter breaks the line, as on a phone, Ctrl+Enter and the button send", () => {
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
  const send = vi.fn();
  const field = shown(send);
  write(field, "Hello");
  fireEvent.keyDown(field, { key: "Enter" });
  expect(send).not.toHaveBeenCalled();
  fireEvent.keyDown(field, { key: "Enter", ctrlKey: true });
  write(field, "Again");
  fireEvent.click(screen.getByRole("button", { name: "Send" }));
  expect(send).toHaveBeenCalledTimes(2);
});

test("an interruption is a choice of its own, by button and by keys", () => {
  const [send, interrupt] = [vi.fn(), vi.fn()];
  const field = shown(send, interrupt);
  write(field, "Stop");
  fireEvent.keyDown(field, { key: "Enter", metaKey: true, shiftKey: true });
  write(field, "Really");
  fireEvent.click(screen.getByRole("button", { name: "Interrupt" }));
  expect(interrupt).toHaveBeenCalledTimes(2);
  expect(send).not.toHaveBeenCalled();
});

test("what could not be sent comes back, and a draft outlives the page", async () => {
  const field = shown(() => Promise.resolve(false));
  write(field, "Hello");
  await act(async () => fireEvent.keyDown(field, { key: "Enter" }));
  expect(field.value).toBe("Hello");
  cleanup();
  expect(shown(vi.fn()).value).toBe("Hello");
});

test("a file of a kind that is not taken is said, and the others are attached", async () => {
  const send = vi.fn();
  const field = shown(send);
  const files = [
    new File(["x"], "dot.png", { type: "image/png" }),
    new File(["#"], "notes.md", { type: "text/markdown" }),
  ];
  await act(async () => {
    fireEvent.paste(field, { clipboardData: { files } });
    await new Promise((resolve) => setTimeout(resolve, 50));
  });
  await screen.findByText("dot.png");
  expect(screen.getByRole("alert").textContent).toContain("notes.md was left out");
  write(field, "Look");
  fireEvent.keyDown(field, { key: "Enter" });
  expect(send.mock.calls[0]?.[0].attachments).toEqual([
    { name: "dot.png", mediaType: "image/png", data: btoa("x") },
  ]);
});

test("a key of a person who composes a character sends nothing", () => {
  const send = vi.fn();
  const field = shown(send);
  write(field, "こ");
  fireEvent.keyDown(field, { key: "Enter", isComposing: true });
  expect(send).not.toHaveBeenCalled();
});

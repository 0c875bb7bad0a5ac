import { act, renderHook } from "@testing-library/react";
import { expect, test } from "vitest";
import { useFrozen } from "../src/pages/runs/use-frozen";
import { listed } from "./support/rows";

const FIRST = [listed("b", 2), listed("a", 1)];

function frozen() {
  const shown = renderHook(({ live, of }) => useFrozen(live, of), {
    initialProps: { live: FIRST, of: "" },
  });
  act(() => shown.result.current.freeze(true));
  const ids = () => shown.result.current.runs.map(({ id }) => id);
  return { ...shown, ids };
}

test("a frozen list stands still, and counts what came, changed and went", () => {
  const { result, rerender, ids } = frozen();
  expect(result.current.waiting).toBe(0);
  const changed = { ...listed("b", 2), updatedAt: "2026-01-01T01:00:00.000Z" };
  rerender({ live: [listed("c", 3), changed], of: "" });
  expect(ids()).toEqual(["b", "a"]);
  expect(result.current.waiting).toBe(3);
  act(() => result.current.freeze(false));
  expect(ids()).toEqual(["c", "b"]);
});

test("older runs that are asked for come below it, and are no news", () => {
  const { result, rerender, ids } = frozen();
  rerender({ live: [listed("c", 3), ...FIRST, listed("0", 0)], of: "" });
  expect(ids()).toEqual(["b", "a", "0"]);
  expect(result.current.waiting).toBe(1);
});

test("another filter shows its own list, and so does the way back", () => {
  const { result, rerender, ids } = frozen();
  const failed = [listed("f", 5, { status: "FAILED" })];
  rerender({ live: failed, of: "status=failed" });
  expect(ids()).toEqual(["f"]);
  expect(result.current.isFrozen).toBe(false);
  rerender({ live: [listed("c", 3)], of: "" });
  expect(ids()).toEqual(["c"]);
});

test("a list of nothing is not frozen: the first run would never show", () => {
  const { result, rerender } = renderHook(({ live }) => useFrozen(live, ""), {
    initialProps: { live: [] as typeof FIRST },
  });
  act(() => result.current.freeze(true));
  rerender({ live: FIRST });
  expect(result.current.runs).toEqual(FIRST);
});

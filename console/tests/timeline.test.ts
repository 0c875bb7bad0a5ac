import { expect, test } from "vitest";
import { laidOut, type Span, spansOf } from "../src/pages/run/timeline-layout";

const span = (key: string, from: number, to: number, more: Partial<Span> = {}): Span => ({
  key,
  kind: "tool",
  name: key,
  step: 1,
  from,
  to,
  isOpen: false,
  failed: false,
  cost: null,
  ...more,
});

test("spans stand where they were in time", () => {
  const { spans, busyMs, idleMs } = laidOut([span("a", 0, 500), span("b", 500, 1000)]);
  expect(spans.map(({ start, width }) => [start, width])).toEqual([
    [0, 0.5],
    [0.5, 0.5],
  ]);
  expect([busyMs, idleMs]).toEqual([1000, 0]);
});

test("long idle time is folded to two seconds, and told", () => {
  const { spans, busyMs, idleMs } = laidOut([span("a", 0, 4000), span("b", 64_000, 68_000)]);
  expect([busyMs, idleMs]).toEqual([8000, 60_000]);
  expect(spans.map(({ start, width }) => [start, width])).toEqual([
    [0, 0.4],
    [0.6, 0.4],
  ]);
});

test("what goes on beside something long is no idle time", () => {
  const { idleMs } = laidOut([
    span("long", 0, 60_000),
    span("a", 0, 10),
    span("b", 50_000, 60_000),
  ]);
  expect(idleMs).toBe(0);
});

test("a span of no length can still be seen, and an empty line is one", () => {
  expect(laidOut([span("a", 5, 5)]).spans[0]?.width).toBeGreaterThan(0);
  expect(laidOut([])).toEqual({ spans: [], busyMs: 0, idleMs: 0 });
});

test("calls of the model and of tools are one list by time; what has not begun is left out", () => {
  const usage = {
    inputTokens: 1,
    outputTokens: 1,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cost: "0.5",
  };
  const model = {
    id: "m",
    runId: "r",
    firstTokenAt: null,
    step: 1,
    attempt: 2,
    model: "small",
    usage,
    requestId: null,
  };
  const tool = {
    id: "t",
    runId: "r",
    step: 1,
    name: "look",
    input: {},
    state: "SUCCEEDED" as const,
    progress: null,
    result: null,
    isError: true,
    reason: null,
    childRunId: null,
  };
  const spans = spansOf(
    [{ ...model, startedAt: "2026-01-01T00:00:01Z", finishedAt: null, stopReason: null }],
    [
      { ...tool, startedAt: "2026-01-01T00:00:00Z", finishedAt: "2026-01-01T00:00:02Z" },
      { ...tool, id: "later", startedAt: null, finishedAt: null },
    ],
    Date.parse("2026-01-01T00:00:03Z"),
  );
  expect(spans.map(({ key, isOpen, failed, cost }) => [key, isOpen, failed, cost])).toEqual([
    ["t", false, true, null],
    ["m", true, false, 0.5],
  ]);
  expect(spans[1]?.name).toBe("small, attempt 2");
});

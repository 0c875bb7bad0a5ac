// @vitest-environment happy-dom
import { act, cleanup, renderHook } from "@testing-library/react";
import { type ReactNode, StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ModelCall } from "../src/api.js";
import { SteersmanProvider, useModelCalls, useRun, useRunEvents } from "../src/index.js";
import { createEventLog, TransportError } from "../src/store.js";
import {
  createFakeRun,
  createFakeTransport,
  type FakeRun,
  type FakeTransport,
} from "../src/testing.js";

let transport: FakeTransport;

beforeEach(() => {
  vi.useFakeTimers();
  transport = createFakeTransport();
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const wrapper = ({ children }: { children: ReactNode }) => (
  <StrictMode>
    <SteersmanProvider transport={transport}>{children}</SteersmanProvider>
  </StrictMode>
);

const settle = (milliseconds = 200) => act(() => vi.advanceTimersByTimeAsync(milliseconds));
const asked = (name: string) => transport.asked.filter((one) => one.name === name);
const following = () => transport.followed.map(({ name }) => name).sort();
const write = (run: FakeRun, count: number) => {
  for (let at = 0; at < count; at += 1)
    run.tell({ __typename: "TextDelta", step: 1, block: 0, offset: at, text: "x" });
};

describe("useRunEvents", () => {
  const seqs = ({ events }: { events: { seq: number }[] }) => events.map(({ seq }) => seq);

  test("shows the whole generation, whenever it is opened, and what comes then", async () => {
    const run = createFakeRun(transport);
    write(run, 3);
    const { result } = renderHook(() => useRunEvents({ runId: "run_1" }), { wrapper });
    await settle();
    expect(seqs(result.current)).toEqual([1, 2, 3]);
    act(() => write(run, 1));
    await settle();
    expect(seqs(result.current)).toEqual([1, 2, 3, 4]);
  });

  test("keeps the newest ones, and says how many it has let go", async () => {
    const run = createFakeRun(transport);
    const { result } = renderHook(() => useRunEvents({ runId: "run_1", size: 5 }), { wrapper });
    await settle();
    act(() => write(run, 12));
    await settle();
    expect([seqs(result.current), result.current.dropped]).toEqual([[8, 9, 10, 11, 12], 7]);
  });

  test("goes on behind the last one after a lost connection, and into the next generation", async () => {
    const run = createFakeRun(transport);
    const { result } = renderHook(() => useRunEvents({ runId: "run_1" }), { wrapper });
    await settle();
    act(() => write(run, 2));
    act(() => transport.drop());
    expect(result.current.connection.state).toBe("reconnecting");
    write(run, 1);
    run.tell({ __typename: "StepRestarted", step: 2, reason: "again", streamId: "str_2" });
    act(() => transport.restore());
    await settle();
    const variables = transport.followed[0]?.variables;
    expect(variables).toEqual({ runId: "run_1", streamId: "str_1", after: 2 });
    const { events } = result.current;
    expect(events.map(({ streamId, seq }) => `${streamId} ${seq}`)).toEqual([
      "str_1 1",
      "str_1 2",
      "str_1 3",
      "str_2 1",
    ]);
  });

  test("asks once however many show it, for nothing where nobody does, and for no run where there is none", async () => {
    createFakeRun(transport);
    const show = (runId: string | null) => renderHook(() => useRunEvents({ runId }), { wrapper });
    const shown = [show("run_1"), show("run_1"), show(null)];
    await settle();
    expect(following()).toEqual(["Events"]);
    for (const { unmount } of shown) unmount();
    await settle(2_000);
    expect(following()).toEqual([]);
  });

  test("says why nothing comes, and tries again when it is opened again", async () => {
    transport.serve("Events", (_, sink) => sink.error(new TransportError("RUN_NOT_FOUND", "no")));
    const log = createEventLog({ transport, runId: "run_9" });
    const leave = log.subscribe(() => {});
    await settle();
    expect(log.getSnapshot().error).toMatchObject({ code: "RUN_NOT_FOUND" });
    leave();
    await settle(1_000);
    write(createFakeRun(transport, { id: "run_9" }), 1);
    log.subscribe(() => {});
    await settle();
    expect([log.getSnapshot().error, seqs(log.getSnapshot())]).toEqual([null, [1]]);
  });
});

describe("useModelCalls", () => {
  const call = (step: number, more: Partial<ModelCall> = {}) => ({
    id: `mdl_${step}`,
    step,
    finishedAt: "2026-01-01T00:00:00.000Z",
    ...more,
  });
  const ids = ({ calls }: { calls: ModelCall[] }) => calls.map(({ id }) => id);
  const serve = (...pages: object[][]) =>
    transport.answer("ModelCalls", ({ before }) => {
      const at = before === null ? pages.length - 1 : Number(before);
      const pageInfo = { hasPreviousPage: at > 0, startCursor: `${at - 1}` };
      return { run: { modelCalls: { nodes: pages[at], pageInfo } } };
    });

  test("reads all calls once, and shares the run's connection", async () => {
    createFakeRun(transport);
    serve([call(1), call(2)], [call(3)]);
    const { result } = renderHook(
      () => ({ run: useRun({ runId: "run_1" }), models: useModelCalls({ runId: "run_1" }) }),
      { wrapper },
    );
    expect(result.current.models.isLoading).toBe(true);
    await settle();
    expect(ids(result.current.models)).toEqual(["mdl_1", "mdl_2", "mdl_3"]);
    expect(following()).toEqual(["Events", "Messages", "Rows"]);
    expect(asked("ModelCalls").map(({ variables }) => variables.before)).toEqual([null, "0"]);
  });

  test("reads the newest again when a step has begun or finished, and keeps the others as they are", async () => {
    const run = createFakeRun(transport);
    serve([call(1)], [call(2)]);
    const { result } = renderHook(() => useModelCalls({ runId: "run_1" }), { wrapper });
    await settle(1_000);
    const [first, second] = result.current.calls;
    serve([call(1)], [call(2), call(3, { finishedAt: null })]);
    act(() => write(run, 5));
    await settle(1_000);
    expect(asked("ModelCalls")).toHaveLength(3);
    expect(result.current.calls[2]?.finishedAt).toBe(null);
    serve([call(1)], [call(2), call(3)]);
    act(() => run.change({ steps: 1 }));
    await settle(1_000);
    expect(asked("ModelCalls")).toHaveLength(4);
    expect(result.current.calls[2]?.finishedAt).not.toBe(null);
    expect([result.current.calls[0], result.current.calls[1]]).toEqual([first, second]);
    expect(result.current.calls[0]).toBe(first);
    expect(result.current.calls[1]).toBe(second);
  });

  test("asks for nothing while text comes, or where nobody shows it", async () => {
    const run = createFakeRun(transport);
    serve([call(1)]);
    write(run, 1);
    const { unmount } = renderHook(() => useModelCalls({ runId: "run_1" }), { wrapper });
    await settle(1_000);
    const before = asked("ModelCalls").length;
    for (let count = 0; count < 20; count += 1) {
      act(() => write(run, 1));
      await settle(100);
    }
    expect(asked("ModelCalls")).toHaveLength(before);
    unmount();
    await settle(2_000);
    run.change({ steps: 1 });
    await settle(2_000);
    expect([asked("ModelCalls").length, following()]).toEqual([before, []]);
  });

  test("tells what can't be read, and reads it when the server is back", async () => {
    const run = createFakeRun(transport);
    transport.answer("ModelCalls", () => {
      throw new TransportError("INTERNAL", "broken");
    });
    const { result } = renderHook(() => useModelCalls({ runId: "run_1" }), { wrapper });
    await settle(1_000);
    expect(result.current).toMatchObject({ isLoading: false, error: { code: "INTERNAL" } });
    let lost = true;
    transport.answer("ModelCalls", () => {
      if (lost) throw new TransportError("NETWORK", "lost");
      const pageInfo = { hasPreviousPage: false, startCursor: null };
      return { run: { modelCalls: { nodes: [call(1)], pageInfo } } };
    });
    act(() => run.change({ steps: 1 }));
    await settle(1_000);
    lost = false;
    await settle(30_000);
    expect([ids(result.current), result.current.error]).toEqual([["mdl_1"], null]);
  });
});

// @vitest-environment happy-dom
import { act, cleanup, render, renderHook, screen } from "@testing-library/react";
import { type ReactNode, StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  cancelMany,
  changesSince,
  SteersmanProvider,
  TransportError,
  useApprovals,
  useChat,
  useRun,
  useRuns,
} from "../src/index.js";
import { createFakeRun, createFakeTransport, type FakeTransport } from "../src/testing.js";

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

function Status({ runId = "run_1" }) {
  return <p>{useRun({ runId }).status}</p>;
}

function Beginner() {
  const { runId, status, start } = useRun({ agent: "assistant" });
  return (
    <>
      <button type="button" onClick={() => start("Hi")}>
        {status}
      </button>
      {runId !== null && <Status runId={runId} />}
    </>
  );
}

const settle = (milliseconds = 200) => act(() => vi.advanceTimersByTimeAsync(milliseconds));
const asked = (name: string) => transport.asked.filter((one) => one.name === name);
const following = () => transport.followed.map(({ name }) => name).sort();
const page = { hasNextPage: false, endCursor: null };

describe("useRun", () => {
  test("shows a run once however often React renders it, and cancels nothing when it is unmounted", async () => {
    const run = createFakeRun(transport);
    run.say("USER", "Hi");
    const { result, unmount } = renderHook(() => useRun({ runId: "run_1" }), { wrapper });
    await settle();
    expect(result.current.messages.map(({ text }) => text)).toEqual(["Hi"]);
    expect([following(), asked("Run")]).toMatchObject([["Events", "Messages", "Rows"], [{}]]);
    unmount();
    await settle(2_000);
    expect(following()).toEqual([]);
    expect(asked("Cancel")).toEqual([]);
  });

  test("is shared by components that show the same run", async () => {
    const run = createFakeRun(transport);
    render(
      <>
        <Status />
        <Status />
      </>,
      { wrapper },
    );
    await settle();
    expect(screen.getAllByText("running")).toHaveLength(2);
    expect([following().length, asked("Run").length]).toEqual([3, 1]);
    act(() => run.change({ status: "COMPLETED" }));
    await settle();
    expect(screen.getAllByText("completed")).toHaveLength(2);
  });

  test("begins a run, and stays with it when the page then names it", async () => {
    const run = createFakeRun(transport);
    transport.answer("Start", () => ({
      startRun: { run: run.row, queued: false, inputId: null, errors: [] },
    }));
    const { result, rerender } = renderHook(
      ({ runId }: { runId: string | null }) => useRun({ runId, agent: "assistant" }),
      { wrapper, initialProps: { runId: null } as { runId: string | null } },
    );
    expect(result.current.status).toBe("idle");
    await act(() => result.current.steer("Hi"));
    await settle();
    expect(result.current).toMatchObject({ runId: "run_1", status: "running" });
    rerender({ runId: "run_1" });
    await settle();
    expect(result.current).toMatchObject({ runId: "run_1", isHydrating: false });
    expect(asked("Run")).toEqual([]);
  });

  test("that began a run shares it with who is told its id", async () => {
    const run = createFakeRun(transport);
    transport.answer("Start", () => ({
      startRun: { run: run.row, queued: false, inputId: null, errors: [] },
    }));
    render(<Beginner />, { wrapper });
    await act(async () => screen.getByText("idle").click());
    await settle();
    expect(screen.getAllByText("running")).toHaveLength(2);
    expect([following().length, asked("Run").length]).toEqual([3, 0]);
  });

  test("goes over to another run, and shows nothing of the one before", async () => {
    createFakeRun(transport).say("USER", "First");
    const { result, rerender } = renderHook(({ runId }) => useRun({ runId }), {
      wrapper,
      initialProps: { runId: "run_1" },
    });
    await settle();
    createFakeRun(transport, { id: "run_2" }).say("USER", "Second");
    rerender({ runId: "run_2" });
    expect(result.current).toMatchObject({ runId: "run_2", isHydrating: true, messages: [] });
    await settle(1_000);
    expect(result.current.messages.map(({ text }) => text)).toEqual(["Second"]);
    expect(following()).toHaveLength(3);
  });

  test("tells each change of the status once, and an end once its last message is there", async () => {
    const run = createFakeRun(transport);
    const statuses: string[] = [];
    const ends: string[] = [];
    const onStatus = (status: string) => statuses.push(status);
    const onFinish = ({ messages }: { messages: { text: string }[] }) =>
      ends.push(messages.at(-1)?.text ?? "");
    renderHook(() => useRun({ runId: "run_1", onStatus, onFinish }), { wrapper });
    await settle();
    act(
      () => void run.tell({ __typename: "TextDelta", step: 1, block: 0, offset: 0, text: "Hello" }),
    );
    await settle();
    act(
      () => void run.tell({ __typename: "StepFinished", step: 1, messageSeq: 1, stopReason: null }),
    );
    act(() => run.change({ status: "COMPLETED" }));
    await settle();
    expect([statuses, ends]).toEqual([[], []]);
    act(() => void run.say("ASSISTANT", "Hello"));
    await settle();
    expect([statuses, ends]).toEqual([["completed"], ["Hello"]]);
  });

  test("says what it needs where there is no provider", () => {
    const silent = vi.spyOn(console, "error").mockImplementation(() => {});
    expect(() => renderHook(() => useRun())).toThrow(/SteersmanProvider/);
    silent.mockRestore();
  });
});

describe("useRuns", () => {
  const listed = (id: string, more: object = {}) => ({
    id,
    agent: "a",
    status: "RUNNING",
    createdAt: `2026-01-0${id}T00:00:00.000Z`,
    updatedAt: "2026-01-10T00:00:00.000Z",
    ...more,
  });
  const change = (kind: string, run: { id: string }) => ({
    runs: { kind, runId: run.id, run: kind === "REMOVED" ? null : run },
  });
  const ids = ({ runs }: { runs: { id: string }[] }) => runs.map(({ id }) => id);

  test("subscribes before it reads, and keeps what changes meanwhile", async () => {
    transport.answer("Runs", () => {
      transport.emit("RunChanges", change("ADDED", listed("3")));
      return { runs: { nodes: [listed("2"), listed("1")], pageInfo: page } };
    });
    const { result } = renderHook(() => useRuns({ filter: { agent: "a" } }), { wrapper });
    expect(result.current.isLoading).toBe(true);
    await settle();
    expect([ids(result.current), result.current.isLoading]).toEqual([["3", "2", "1"], false]);
    expect(transport.followed[0]?.variables).toEqual({ filter: { agent: "a" } });
    act(() => transport.emit("RunChanges", change("REMOVED", listed("2"))));
    const later = { status: "COMPLETED", updatedAt: "2026-01-11T00:00:00.000Z" };
    act(() => transport.emit("RunChanges", change("CHANGED", listed("1", later))));
    await settle();
    expect(result.current.runs).toMatchObject([{ id: "3" }, { id: "1", status: "COMPLETED" }]);
  });

  test("looks a second time, for what changed before the server had begun to tell", async () => {
    const nodes = [listed("1")];
    transport.answer("Runs", () => ({ runs: { nodes: [...nodes], pageInfo: page } }));
    const { result } = renderHook(() => useRuns(), { wrapper });
    await settle();
    nodes.unshift(listed("2"));
    await settle(10_000);
    expect(ids(result.current)).toEqual(["2", "1"]);
    expect(asked("Runs")).toHaveLength(2);
  });

  test("reads anew after a lost connection, and further pages when asked", async () => {
    const pages: Record<string, object> = {
      first: { nodes: [listed("3")], pageInfo: { hasNextPage: true, endCursor: "c" } },
      c: { nodes: [listed("2")], pageInfo: page },
    };
    transport.answer("Runs", ({ after }) => ({ runs: pages[after ?? "first"] }));
    const { result } = renderHook(() => useRuns({ first: 1 }), { wrapper });
    await settle();
    expect([ids(result.current), result.current.hasMore]).toEqual([["3"], true]);
    await act(() => result.current.loadMore());
    await settle();
    expect([ids(result.current), result.current.hasMore]).toEqual([["3", "2"], false]);
    act(() => transport.drop());
    expect(result.current.connection.state).toBe("reconnecting");
    pages.first = { nodes: [listed("4"), listed("3")], pageInfo: page };
    act(() => transport.restore());
    await settle();
    expect(ids(result.current)).toEqual(["4", "3"]);
    expect(asked("Runs").at(-1)?.variables).toMatchObject({ first: 2, after: null });
  });
});

describe("useRuns while it is frozen", () => {
  const listed = (id: string, updatedAt = "2026-01-10T00:00:00.000Z") => ({
    id,
    agent: "a",
    createdAt: `2026-01-0${id}T00:00:00.000Z`,
    updatedAt,
  });
  const tell = (kind: string, run: { id: string }) =>
    act(() =>
      transport.emit("RunChanges", {
        runs: { kind, runId: run.id, run: kind === "REMOVED" ? null : run },
      }),
    );
  const ids = ({ runs }: { runs: { id: string }[] }) => runs.map(({ id }) => id);
  const show = (frozen: boolean) =>
    renderHook((options) => useRuns(options), {
      wrapper,
      initialProps: { frozen } as { frozen: boolean; filter?: object },
    });

  test("stands still and says how much is new, changed and gone, until it goes on", async () => {
    const nodes = [listed("5"), listed("4"), listed("3")];
    transport.answer("Runs", () => ({ runs: { nodes, pageInfo: page } }));
    const { result, rerender } = show(false);
    await settle(10_000);
    rerender({ frozen: true });
    const before = result.current.runs;
    tell("ADDED", listed("6"));
    tell("CHANGED", listed("4", "2026-01-11T00:00:00.000Z"));
    tell("REMOVED", listed("3"));
    await settle();
    expect([result.current.runs, result.current.waiting]).toEqual([before, 3]);
    rerender({ frozen: false });
    expect([ids(result.current), result.current.waiting]).toEqual([["6", "5", "4"], 0]);
    rerender({ frozen: true });
    expect([ids(result.current), result.current.waiting]).toEqual([["6", "5", "4"], 0]);
  });

  test("has the older runs that one asks for at its end, and nothing else that is new", async () => {
    const pages: Record<string, object> = {
      first: { nodes: [listed("5"), listed("4")], pageInfo: { hasNextPage: true, endCursor: "c" } },
      c: { nodes: [listed("3"), listed("2")], pageInfo: page },
    };
    transport.answer("Runs", ({ after }) => ({ runs: pages[after ?? "first"] }));
    const { result } = show(true);
    await settle(10_000);
    tell("ADDED", listed("6"));
    await settle();
    await act(() => result.current.loadMore());
    expect([ids(result.current), result.current.waiting]).toEqual([["5", "4", "3", "2"], 1]);
  });

  test("is of the runs of another filter once they are read", async () => {
    transport.answer("Runs", ({ filter }) => ({
      runs: { nodes: [listed(filter?.agent === "b" ? "2" : "1")], pageInfo: page },
    }));
    const { result, rerender } = show(true);
    expect([ids(result.current), result.current.waiting]).toEqual([[], 0]);
    await settle();
    expect(ids(result.current)).toEqual(["1"]);
    rerender({ frozen: true, filter: { agent: "b" } });
    await settle();
    expect([ids(result.current), result.current.waiting]).toEqual([["2"], 0]);
  });

  test("of which a lost connection leaves the first ones unread, counts none of them as gone", () => {
    const held = ["5", "4", "3", "2"].map((id) => listed(id)) as never;
    const runs = ["5", "3"].map((id) => listed(id)) as never;
    expect(changesSince(held, { runs, hasMore: true })).toBe(1);
    expect(changesSince(held, { runs, hasMore: false })).toBe(2);
  });
});

describe("cancelling many runs", () => {
  test("asks for a few at a time, and tells which could not be", async () => {
    transport.answer("Runs", () => ({ runs: { nodes: [], pageInfo: page } }));
    let most = 0;
    let now = 0;
    transport.answer("Stop", async ({ input }) => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => setTimeout(resolve, 10));
      now -= 1;
      if (input.runId === "run_5") throw new TransportError("INTERNAL", "broken");
      const refused = { code: "RUN_NOT_FOUND", message: "no", field: null };
      return { cancelRun: { errors: input.runId === "run_2" ? [refused] : [] } };
    });
    const { result } = renderHook(() => useRuns(), { wrapper });
    await settle();
    const runIds = Array.from({ length: 10 }, (_, at) => `run_${at}`);
    const outcome = result.current.cancelMany([...runIds, "run_1"], { atOnce: 3, reason: "late" });
    await settle(1_000);
    expect(await outcome).toEqual({
      cancelled: runIds.filter((id) => id !== "run_2" && id !== "run_5"),
      failed: [
        { runId: "run_2", error: { code: "RUN_NOT_FOUND", message: "no", retryable: false } },
        { runId: "run_5", error: { code: "INTERNAL", message: "broken", retryable: false } },
      ],
    });
    expect(most).toBe(3);
    const sent = asked("Stop").map(({ variables }) => variables.input);
    expect(sent).toHaveLength(10);
    expect(sent[0]).toEqual({ runId: "run_0", reason: "late" });
  });

  test("sends one again whose answer was lost", async () => {
    let tries = 0;
    transport.answer("Stop", () => {
      tries += 1;
      if (tries < 3) throw new TransportError("NETWORK", "lost");
      return { cancelRun: { errors: [] } };
    });
    const outcome = cancelMany(transport, ["run_1"]);
    await settle(10_000);
    expect(await outcome).toEqual({ cancelled: ["run_1"], failed: [] });
  });
});

describe("useApprovals", () => {
  const call = (id: string, state = "WAITING") => ({ id, runId: "run_1", name: "refund", state });

  test("shows what waits, takes a decision, and drops what ceased to wait", async () => {
    transport.answer("Approvals", () => ({
      approvals: { nodes: [call("call_1")], pageInfo: page },
    }));
    const { result } = renderHook(() => useApprovals(), { wrapper });
    await settle();
    act(() => transport.emit("ApprovalChanges", { approvals: call("call_2") }));
    await settle();
    expect(result.current.approvals.map(({ id }) => id)).toEqual(["call_1", "call_2"]);
    transport.answer("DecideAlone", () => ({ decideToolCalls: { errors: [] } }));
    await act(() => result.current.approve("call_1", { input: { amount: 1 } }));
    expect(result.current.approvals.map(({ id }) => id)).toEqual(["call_2"]);
    expect(asked("DecideAlone")[0]?.variables.input).toMatchObject({
      runId: "run_1",
      decisions: [{ toolCallId: "call_1", decision: "APPROVE", input: { amount: 1 } }],
    });
    act(() => transport.emit("ApprovalChanges", { approvals: call("call_2", "DENIED") }));
    expect(result.current.approvals).toEqual([]);
  });

  test("drops after a lost connection what was decided meanwhile, and tells a refusal", async () => {
    let waiting = [call("call_1"), call("call_2")];
    transport.answer("Approvals", () => ({ approvals: { nodes: waiting, pageInfo: page } }));
    const { result } = renderHook(() => useApprovals(), { wrapper });
    await settle();
    const errors = [{ code: "CALL_ALREADY_DECIDED", message: "Too late." }];
    transport.answer("DecideAlone", () => ({ decideToolCalls: { errors } }));
    await act(() => result.current.deny("call_2"));
    expect(result.current.error).toMatchObject({ code: "CALL_ALREADY_DECIDED" });
    expect(result.current.approvals[1]?.deciding).toBe(null);
    act(() => transport.drop());
    waiting = [call("call_1")];
    act(() => transport.restore());
    await settle();
    expect(result.current.approvals.map(({ id }) => id)).toEqual(["call_1"]);
  });
});

describe("useChat", () => {
  const message = (seq: number, text: string, more: object = {}) => ({
    chatMessages: {
      id: `cms_${seq}`,
      threadId: "thr_1",
      seq,
      text,
      status: "DONE",
      runId: null,
      ...more,
    },
  });
  const texts = ({ messages }: { messages: { text: string }[] }) =>
    messages.map(({ text }) => text);

  test("shows messages as they grow, and goes on behind what was settled", async () => {
    const { result } = renderHook(() => useChat({ threadId: "thr_1" }), { wrapper });
    await settle();
    act(() => transport.emit("ChatMessages", message(1, "Hi")));
    act(() => transport.emit("ChatMessages", message(2, "Hel", { status: "STREAMING" })));
    await settle();
    expect([texts(result.current), result.current.isActive]).toEqual([["Hi", "Hel"], true]);
    act(() => transport.drop());
    act(() => transport.restore());
    expect(transport.followed[0]?.variables).toEqual({ threadId: "thr_1", afterSeq: 1 });
    await settle();
    act(() => transport.emit("ChatMessages", message(2, "Hello")));
    await settle();
    expect([texts(result.current), result.current.isActive]).toEqual([["Hi", "Hello"], false]);
  });

  test("shows what one says at once, under one key however often it is sent, and then where it stands", async () => {
    const { result } = renderHook(() => useChat({ threadId: "thr_1" }), { wrapper });
    await settle();
    transport.drop();
    let sent: Promise<unknown> = Promise.resolve();
    act(() => {
      sent = result.current.send("Hi");
    });
    expect(result.current.outgoing).toMatchObject([{ text: "Hi", state: "sending" }]);
    await settle(60_000);
    await act(() => sent);
    expect(result.current.outgoing).toMatchObject([{ text: "Hi", state: "failed" }]);
    transport.restore();
    transport.answer("Post", () => ({
      postMessage: { message: { id: "cms_1", seq: 1 }, errors: [] },
    }));
    await act(() => result.current.resend(result.current.outgoing[0]?.key ?? ""));
    act(() => transport.emit("ChatMessages", message(1, "Hi")));
    await settle();
    expect([texts(result.current), result.current.outgoing]).toEqual([["Hi"], []]);
    expect(new Set(asked("Post").map(({ variables }) => variables.input.key)).size).toBe(1);
  });

  test("stops every agent that is writing", async () => {
    const { result } = renderHook(() => useChat({ threadId: "thr_1" }), { wrapper });
    await settle();
    const writing = { status: "STREAMING", runId: "run_1" };
    act(() => transport.emit("ChatMessages", message(1, "Hel", writing)));
    act(() => transport.emit("ChatMessages", message(2, "Hal", { ...writing, runId: "run_2" })));
    transport.answer("Stop", () => ({ cancelRun: { errors: [] } }));
    await settle();
    await act(() => result.current.stop());
    const stopped = asked("Stop").map(({ variables }) => variables.input.runId);
    expect(stopped).toEqual(["run_1", "run_2"]);
  });
});

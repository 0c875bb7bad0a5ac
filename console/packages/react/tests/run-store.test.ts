import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createRunStore, type RunStore, TransportError } from "../src/store.js";
import { createFakeRun, createFakeTransport, type FakeTransport } from "../src/testing.js";

let transport: FakeTransport;
let keys: number;

beforeEach(() => {
  vi.useFakeTimers();
  transport = createFakeTransport();
  keys = 0;
});

afterEach(() => vi.useRealTimers());

const settle = () => vi.advanceTimersByTimeAsync(200);

function open(options: { runId?: string; agent?: string; throttleMs?: number } = {}) {
  keys = 0;
  const key = () => `key-${++keys}`;
  const store = createRunStore({ transport, key, ...options });
  const shown: ReturnType<RunStore["getSnapshot"]>[] = [];
  const leave = store.subscribe(() => shown.push(store.getSnapshot()));
  return { store, shown, leave };
}

const names = () => transport.asked.map(({ name }) => name);
const asked = (name: string) => transport.asked.filter((one) => one.name === name);
const following = () => transport.followed.map(({ name }) => name).sort();
const textOf = (store: RunStore) => store.getSnapshot().partial?.blocks[0]?.text;
const delta = (offset: number, text: string) =>
  ({ __typename: "TextDelta", step: 1, block: 0, offset, text }) as const;

describe("watching", () => {
  test("nothing is asked before somebody watches", async () => {
    createFakeRun(transport);
    createRunStore({ transport, runId: "run_1" });
    await settle();
    expect([transport.asked, transport.followed]).toEqual([[], []]);
  });

  test("a run is read first, then followed from there", async () => {
    const run = createFakeRun(transport);
    run.say("USER", "Hi");
    run.tell(delta(0, "Hel"));
    const { store } = open({ runId: "run_1" });
    expect(store.getSnapshot().isHydrating).toBe(true);
    await settle();
    expect(names()).toEqual(["Mark", "Transcript", "Run"]);
    const [events, messages] = ["Events", "Messages"].map(
      (name) => transport.followed.find((one) => one.name === name)?.variables,
    );
    expect(messages).toEqual({ runId: "run_1", afterSeq: 1 });
    expect(events).toEqual({ runId: "run_1", streamId: "str_1" });
    expect(store.getSnapshot()).toMatchObject({ isHydrating: false, status: "running" });
    expect(textOf(store)).toBe("Hel");
  });

  test("a run that moves on while it is read is read on, until it stands still", async () => {
    const run = createFakeRun(transport);
    run.say("USER", "Hi");
    let moves = 2;
    transport.answer("Mark", () => {
      const steps = run.row.steps;
      if (moves-- > 0) {
        run.say("ASSISTANT", "Hello");
        run.change({ steps: steps + 1 });
      }
      return { run: { steps } };
    });
    const { store } = open({ runId: "run_1" });
    await settle();
    expect(names()).toEqual(["Mark", "Transcript", "Run", "Transcript", "Run"]);
    expect(store.getSnapshot().memory.settled).toEqual({ step: 1, seq: 2 });
  });

  test("after a lost connection it goes on behind what is there, and nothing is missing", async () => {
    const run = createFakeRun(transport);
    run.say("USER", "Hi");
    const { store } = open({ runId: "run_1" });
    await settle();
    run.tell(delta(0, "Hel"));
    await settle();
    transport.drop();
    expect(store.getSnapshot().connection).toMatchObject({
      state: "reconnecting",
      error: { code: "NETWORK" },
    });
    run.tell(delta(3, "lo"));
    run.tell({ __typename: "StepFinished", step: 1, messageSeq: 2, stopReason: "end_turn" });
    run.say("ASSISTANT", "Hello");
    run.change({ status: "COMPLETED", steps: 1 });
    expect(textOf(store)).toBe("Hel");
    transport.restore();
    await settle();
    const variables = Object.fromEntries(
      transport.followed.map((one) => [one.name, one.variables]),
    );
    expect(variables.Events).toEqual({ runId: "run_1", streamId: "str_1", after: 1 });
    expect(variables.Messages).toEqual({ runId: "run_1", afterSeq: 1 });
    const { messages, partial, status, error } = store.getSnapshot();
    expect(messages.map(({ text }) => text)).toEqual(["Hi", "Hello"]);
    expect([partial, status, error]).toEqual([null, "completed", null]);
  });

  test("a run that can't be read yet is read when the server is back", async () => {
    const run = createFakeRun(transport);
    run.say("USER", "Hi");
    transport.drop();
    const { store } = open({ runId: "run_1" });
    await settle();
    expect(store.getSnapshot()).toMatchObject({ isHydrating: true, error: null });
    transport.restore();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(store.getSnapshot().messages).toHaveLength(1);
  });

  test("a run that is not there is the store's error, once, and is asked for no more", async () => {
    transport.answer("Mark", () => ({ run: null }));
    const { store } = open({ runId: "run_9" });
    await settle();
    expect(store.getSnapshot().error).toMatchObject({ code: "RUN_NOT_FOUND", retryable: false });
    await vi.advanceTimersByTimeAsync(60_000);
    expect([names(), following()]).toEqual([["Mark"], []]);
  });

  test("subscriptions are counted: the last to leave ends them, and coming back goes on", async () => {
    const run = createFakeRun(transport);
    const { store, leave } = open({ runId: "run_1" });
    const leaveToo = store.subscribe(() => {});
    await settle();
    expect(following()).toEqual(["Events", "Messages", "Rows"]);
    leave();
    leave();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(following()).toHaveLength(3);
    leaveToo();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(following()).toEqual([]);
    run.tell(delta(0, "Hello"));
    store.subscribe(() => {});
    await settle();
    expect([textOf(store), asked("Run")]).toMatchObject(["Hello", [{}]]);
  });

  test("the first words of an answer are shown at once, however much else has changed before", async () => {
    const run = createFakeRun(transport);
    const { store } = open({ runId: "run_1", throttleMs: 80 });
    await settle();
    run.change({ updatedAt: "2026-01-01T00:00:01.000Z" });
    run.change({ title: "changed again", updatedAt: "2026-01-01T00:00:02.000Z" });
    run.tell(delta(0, "Hel"));
    await vi.advanceTimersByTimeAsync(0);
    expect(textOf(store)).toBe("Hel");
    run.tell(delta(3, "lo"));
    await vi.advanceTimersByTimeAsync(0);
    expect(textOf(store)).toBe("Hel");
    await vi.advanceTimersByTimeAsync(80);
    expect(textOf(store)).toBe("Hello");
  });

  test("the first words of an answer are shown at once behind its reasoning, behind another answer and behind another attempt", async () => {
    const run = createFakeRun(transport);
    const { store } = open({ runId: "run_1", throttleMs: 80 });
    await settle();
    run.tell({ ...delta(0, "Hm"), __typename: "ReasoningDelta" });
    run.tell({ ...delta(0, "First"), block: 1 });
    const words = () => store.getSnapshot().partial?.blocks.find(({ kind }) => kind === "text");
    expect(words()?.text).toBe("First");
    run.tell({ ...delta(5, " of"), block: 1 });
    expect(words()?.text).toBe("First");
    run.tell({ ...delta(0, "Again"), attempt: 2 });
    expect(words()?.text).toBe("Again");
    run.tell({
      __typename: "StepFinished",
      step: 1,
      attempt: 2,
      messageSeq: 1,
      stopReason: "tool_use",
    });
    run.tell({ ...delta(0, "Second"), step: 2 });
    expect(words()?.text).toBe("Again");
    run.say("ASSISTANT", "Again");
    expect(words()?.text).toBe("Second");
  });

  test("what changes is shown at most every throttleMs, the first at once", async () => {
    const run = createFakeRun(transport);
    const { store, shown } = open({ runId: "run_1", throttleMs: 80 });
    await settle();
    shown.length = 0;
    for (let length = 0; length < 40; length += 1) {
      run.tell(delta(length, "x"));
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(shown[0]?.partial?.blocks[0]?.text).toBe("x");
    expect(shown.length).toBeLessThanOrEqual(6);
    await settle();
    expect(textOf(store)).toBe("x".repeat(40));
  });

  test("neither leaving nor disposing nor disconnecting cancels anything", async () => {
    createFakeRun(transport);
    const { store, leave } = open({ runId: "run_1" });
    await settle();
    store.disconnect();
    expect(store.getSnapshot().connection.state).toBe("offline");
    expect(following()).toEqual([]);
    store.connect();
    await settle();
    expect(following()).toHaveLength(3);
    leave();
    store.dispose();
    await settle();
    expect(following()).toEqual([]);
    expect(asked("Cancel")).toEqual([]);
  });

  test("how a call failed is asked of the server, for no event tells it", async () => {
    const run = createFakeRun(transport);
    const { store } = open({ runId: "run_1", throttleMs: 0 });
    await settle();
    const call = { toolCallId: "call_1", name: "refund", input: {}, step: 1 };
    run.tell({ __typename: "ToolCallFinished", ...call, result: "no", isError: true });
    expect(store.getSnapshot().toolCalls[0]?.state).toBe("FAILED");
    transport.answer("EarlierCalls", () => ({
      run: {
        toolCalls: {
          nodes: [{ ...call, id: "call_1", runId: "run_1", state: "DENIED", reason: "too much" }],
        },
      },
    }));
    await settle();
    expect(store.getSnapshot().toolCalls[0]).toMatchObject({ state: "DENIED", reason: "too much" });
  });
});

describe("acting", () => {
  const lost = () => {
    throw new TransportError("NETWORK", "lost");
  };

  test("a run is begun, shown as on its way at once, and followed", async () => {
    const run = createFakeRun(transport);
    transport.answer("Start", () => {
      run.say("USER", "Hi");
      return { startRun: { run: run.row, queued: false, inputId: null, errors: [] } };
    });
    const { store } = open({ agent: "assistant" });
    const started = store.start("Hi", { title: "Greeting" });
    expect(store.getSnapshot()).toMatchObject({
      status: "queued",
      queue: [{ text: "Hi", state: "sending" }],
    });
    await settle();
    expect(await started).toMatchObject({ runId: "run_1", error: null });
    const input = { agent: "assistant", input: "Hi", title: "Greeting", key: "key-1" };
    expect(asked("Start")[0]?.variables).toEqual({ input });
    const { runId, status, messages, queue } = store.getSnapshot();
    expect([runId, status, messages.length, queue]).toEqual(["run_1", "running", 1, []]);
  });

  test("a run that is begun with a history is read, since that was said before it", async () => {
    const run = createFakeRun(transport);
    run.say("USER", "Hi");
    run.say("ASSISTANT", "Hello");
    transport.answer("Start", () => {
      run.say("USER", "Again?");
      return { startRun: { run: run.row, queued: false, inputId: null, errors: [] } };
    });
    const { store } = open({ agent: "assistant" });
    const history = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello" },
    ];
    await store.start("Again?", { overrides: { history } });
    expect(store.getSnapshot().isHydrating).toBe(true);
    await settle();
    run.tell(delta(0, "Again"));
    await settle();
    expect([textOf(store), store.getSnapshot().messages.length]).toEqual(["Again", 3]);
  });

  test("what is said in quick succession is said in that order, to one run", async () => {
    const run = createFakeRun(transport);
    const accepted = { run: run.row, inputId: null, errors: [] };
    transport.answer("Start", () => ({ startRun: { ...accepted, queued: false } }));
    let tries = 0;
    transport.answer("Steer", () => {
      tries += 1;
      return tries === 1 ? lost() : { steerRun: { ...accepted, queued: true } };
    });
    const { store } = open({ agent: "assistant" });
    const said = ["one", "two", "three"].map((text) => store.steer(text));
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await Promise.all(said)).map(({ error }) => error)).toEqual([null, null, null]);
    const sent = transport.asked.flatMap(({ name, variables }) =>
      name === "Start" || name === "Steer" ? [`${name} ${variables.input.input}`] : [],
    );
    expect(sent).toEqual(["Start one", "Steer two", "Steer two", "Steer three"]);
  });

  test("an answer that is lost is asked for again under the same key, another deed has another", async () => {
    const run = createFakeRun(transport);
    const { store } = open({ runId: "run_1" });
    await settle();
    let tries = 0;
    transport.answer("Steer", () => {
      tries += 1;
      if (tries < 3) lost();
      return { steerRun: { run: run.row, queued: true, inputId: "inp_1", errors: [] } };
    });
    const steered = store.steer("Faster", { mode: "INTERRUPT" });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await steered).toEqual({ runId: "run_1", queued: true, inputId: "inp_1", error: null });
    const sent = asked("Steer").map(({ variables }) => variables.input);
    const input = { runId: "run_1", input: "Faster", mode: "INTERRUPT", key: "key-1" };
    expect(sent).toEqual([input, input, input]);
    await Promise.all([store.steer("Slower"), vi.advanceTimersByTimeAsync(1_000)]);
    expect(asked("Steer").at(-1)?.variables.input.key).toBe("key-2");
  });

  test("an input that can't be sent is kept, and sent again under its key when one asks for it", async () => {
    const run = createFakeRun(transport);
    const { store } = open({ runId: "run_1" });
    await settle();
    transport.answer("Steer", lost);
    const steered = store.steer("Faster");
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await steered).error).toMatchObject({ code: "NETWORK", retryable: true });
    const [kept] = store.getSnapshot().queue;
    expect(kept).toMatchObject({ key: "key-1", text: "Faster", state: "failed" });
    expect(store.getSnapshot().status).toBe("running");
    transport.answer("Steer", () => {
      run.change({
        pendingInput: [{ id: "inp_1", text: "Faster", mode: "QUEUE", createdAt: "" }],
      });
      return { steerRun: { run: run.row, queued: true, inputId: "inp_1", errors: [] } };
    });
    await store.resend("key-1");
    expect(store.getSnapshot().queue).toMatchObject([{ key: "key-1", state: "queued" }]);
    expect(new Set(asked("Steer").map(({ variables }) => variables.input.key)).size).toBe(1);
  });

  test("an input shows the files that go with it from sending on, also when it is sent again", async () => {
    const run = createFakeRun(transport);
    const { store } = open({ runId: "run_1" });
    await settle();
    const attachments = [
      { name: "a.png", mediaType: "image/png", data: "AAAA" },
      { mediaType: "application/pdf", data: "BBBB" },
    ];
    const shown = [
      { name: "a.png", mediaType: "image/png" },
      { name: null, mediaType: "application/pdf" },
    ];
    const errors = [{ code: "BAD_USER_INPUT", message: "No.", field: null }];
    transport.answer("Steer", () => ({ steerRun: { run: null, queued: false, errors } }));
    const steered = store.steer("Look", { attachments });
    expect(store.getSnapshot().queue[0]?.attachments).toEqual(shown);
    await steered;
    expect(store.getSnapshot().queue[0]).toMatchObject({ state: "failed", attachments: shown });
    const pendingInput = [{ id: "inp_1", text: "Look", mode: "QUEUE", createdAt: "" }] as const;
    transport.answer("Steer", () => {
      run.change({ pendingInput: [...pendingInput] });
      return { steerRun: { run: run.row, queued: true, inputId: "inp_1", errors: [] } };
    });
    await store.resend("key-1");
    expect(store.getSnapshot().queue).toMatchObject([{ state: "queued", attachments: shown }]);
    const sent = asked("Steer").map(({ variables }) => variables.input.attachments);
    expect(sent).toEqual([attachments, attachments]);
  });

  test("a fork gives another run and leaves this one as it is; asked for again unanswered, it is the same deed", async () => {
    createFakeRun(transport);
    const { store } = open({ runId: "run_1" });
    await settle();
    const before = store.getSnapshot();
    transport.answer("Fork", lost);
    const [unanswered] = await Promise.all([
      store.fork(3, "Then"),
      vi.advanceTimersByTimeAsync(60_000),
    ]);
    expect(unanswered).toMatchObject({ runId: null, error: { code: "NETWORK" } });
    transport.answer("Fork", () => ({ forkRun: { run: { id: "run_2" }, errors: [] } }));
    expect(await store.fork(3, "Then")).toEqual({ runId: "run_2", error: null });
    expect(await store.fork(3)).toEqual({ runId: "run_2", error: null });
    const errors = [{ code: "MESSAGE_NOT_FOUND", message: "There is none.", field: null }];
    transport.answer("Fork", () => ({ forkRun: { run: null, errors } }));
    expect((await store.fork(9)).error).toMatchObject({ code: "MESSAGE_NOT_FOUND" });
    expect(store.getSnapshot()).toBe(before);
    const sent = asked("Fork").map(({ variables }) => variables.input);
    const input = { runId: "run_1", seq: 3, input: "Then", key: "key-1" };
    expect(new Set(sent.map(({ key }) => key))).toEqual(new Set(["key-1", "key-2", "key-3"]));
    expect([sent[0], sent.at(-3)]).toEqual([input, input]);
    expect(sent.at(-2)).toEqual({ runId: "run_1", seq: 3, key: "key-2" });
  });

  test("a refusal is the outcome's error and the state's until it is cleared, and is not tried again", async () => {
    createFakeRun(transport);
    const { store } = open({ runId: "run_1" });
    await settle();
    const errors = [{ code: "RUN_BUSY", message: "It is at work.", field: null }];
    transport.answer("Retry", () => ({ retryRun: { run: null, errors } }));
    const failure = { code: "RUN_BUSY", message: "It is at work.", retryable: true };
    expect(await store.retry()).toEqual({ error: failure });
    expect(store.getSnapshot().error).toEqual(failure);
    store.clearError();
    expect(store.getSnapshot().error).toBe(null);
    expect(asked("Retry")).toHaveLength(1);
  });

  test("a cancel shows at once, and no longer where it was refused", async () => {
    const run = createFakeRun(transport);
    const { store } = open({ runId: "run_1" });
    await settle();
    transport.answer("Cancel", () => ({
      cancelRun: { run: { ...run.row, cancelRequested: true }, errors: [] },
    }));
    const cancelled = store.cancel("enough");
    expect(store.getSnapshot().status).toBe("cancelling");
    await cancelled;
    run.change({ status: "CANCELLED", finish: "ABORTED" });
    await settle();
    expect(store.getSnapshot()).toMatchObject({ status: "cancelled", finish: "ABORTED" });
    run.change({ status: "RUNNING", streamId: "str_2", finish: null });
    transport.answer("Cancel", () => ({
      cancelRun: { run: null, errors: [{ code: "RUN_NOT_FOUND", message: "" }] },
    }));
    await store.cancel();
    expect(store.getSnapshot().status).toBe("running");
  });

  test("calls of several runs are decided at once, each under its own run and a key of its own", async () => {
    const call = { name: "refund", state: "WAITING", approvers: "owner", input: {} };
    const run = createFakeRun(transport, {
      status: "WAITING",
      pendingCalls: [
        { ...call, id: "call_1", runId: "run_1" },
        { ...call, id: "call_2", runId: "run_2" },
        { ...call, id: "call_3", runId: "run_1", approvers: null },
      ] as never,
    });
    const { store } = open({ runId: "run_1" });
    await settle();
    expect(store.getSnapshot().approvals.map(({ id }) => id)).toEqual(["call_1", "call_2"]);
    expect(store.getSnapshot().clientCalls.map(({ id }) => id)).toEqual(["call_3"]);
    transport.answer("Decide", () => ({ decideToolCalls: { run: null, errors: [] } }));
    const decided = store.decideAll("DENY", { reason: "no" });
    expect(store.getSnapshot().approvals.map(({ deciding }) => deciding)).toEqual(["DENY", "DENY"]);
    await decided;
    const decision = { decision: "DENY", reason: "no" };
    expect(asked("Decide").map(({ variables }) => variables.input)).toEqual([
      { runId: "run_1", key: "key-1", decisions: [{ toolCallId: "call_1", ...decision }] },
      { runId: "run_2", key: "key-2", decisions: [{ toolCallId: "call_2", ...decision }] },
    ]);
    await store.approve("call_2", { input: { amount: 1 } });
    expect(asked("Decide").at(-1)?.variables.input).toMatchObject({
      runId: "run_2",
      decisions: [{ toolCallId: "call_2", decision: "APPROVE", input: { amount: 1 } }],
    });
    transport.answer("Complete", () => ({ completeToolCall: { run: run.row, errors: [] } }));
    expect(await store.complete("call_3", { ok: true })).toEqual({ error: null });
    expect(asked("Complete")[0]?.variables.input).toMatchObject({
      runId: "run_1",
      toolCallId: "call_3",
      result: { ok: true },
      isError: false,
    });
  });

  test("an input is withdrawn by its key or its id, unless the model has read it", async () => {
    const pendingInput = [{ id: "inp_1", text: "Wait", mode: "QUEUE", createdAt: "" }] as const;
    const run = createFakeRun(transport, { pendingInput: [...pendingInput] });
    const { store } = open({ runId: "run_1" });
    await settle();
    transport.answer("Withdraw", () => ({
      withdrawInput: { run: run.row, withdrawn: false, errors: [] },
    }));
    expect(await store.withdraw("inp_1")).toEqual({ withdrawn: false, error: null });
    expect(store.getSnapshot().queue).toHaveLength(1);
    transport.answer("Withdraw", () => {
      run.change({ pendingInput: [] });
      return { withdrawInput: { run: run.row, withdrawn: true, errors: [] } };
    });
    expect(await store.withdraw("inp_1")).toEqual({ withdrawn: true, error: null });
    expect(store.getSnapshot().queue).toEqual([]);
  });
});

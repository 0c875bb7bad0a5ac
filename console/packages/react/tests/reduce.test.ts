import { describe, expect, test } from "vitest";
import type { Event, Message, Row } from "../src/api.js";
import type { RunEvent } from "../src/events.js";
import { reduce } from "../src/reduce.js";
import { initialState, type RunState } from "../src/state.js";
import { random } from "./support/random.js";
import {
  firstRow,
  messageOfStep,
  messages,
  recorded,
  rows,
  runId,
  stream,
} from "./support/recorded.js";

const begin = () => initialState(runId);

/** The state after events; each state on the way is checked to show no text twice. */
function fold(events: RunEvent[], from: RunState = begin()): RunState {
  return events.reduce((state, event) => {
    const next = reduce(state, event);
    showsNothingTwice(next);
    return next;
  }, from);
}

function showsNothingTwice({ partial, messages: shown }: RunState): void {
  if (partial === null) return;
  const seq = messageOfStep.get(partial.step);
  expect(shown.some((message) => message.seq === seq)).toBe(false);
}

function view({ memory, ...shown }: RunState) {
  return shown;
}

const whole = fold(recorded);
const textOf = ({ partial }: RunState) => partial?.blocks.map(({ text }) => text).join("") ?? "";

describe("a recorded run", () => {
  test("ends as it did on the server", () => {
    expect(whole.messages).toEqual(messages.map(({ message }) => message));
    expect(whole.status).toBe("cancelled");
    expect(whole.finish).toBe("ABORTED");
    expect([whole.partial, whole.queue]).toEqual([null, []]);
    expect(whole.toolCalls.map(({ state }) => state)).toEqual(["SUCCEEDED", "SUCCEEDED"]);
  });

  test("is the same when any part of it comes twice", () => {
    for (let cut = 1; cut <= recorded.length; cut += 1)
      for (const back of [1, 3, 10, cut]) {
        const again = recorded.slice(Math.max(0, cut - back), cut);
        const twice = [...recorded.slice(0, cut), ...again, ...recorded.slice(cut)];
        expect(view(fold(twice))).toEqual(view(whole));
      }
  });

  test("is the same in whatever order its three subscriptions come", () => {
    for (let seed = 1; seed <= 200; seed += 1)
      expect(view(fold(interleaved(seed)))).toEqual(view(whole));
  });

  test("is the same when a step's text comes again as one piece, wherever it was resumed", () => {
    for (let cut = 1; cut < recorded.length; cut += 1) {
      const before = fold(recorded.slice(0, cut));
      expect(view(fold([...merged(before), ...recorded.slice(cut)], before))).toEqual(view(whole));
    }
  });

  test("is the same when it is found at any moment and followed from there", () => {
    for (let cut = 1; cut < recorded.length; cut += 1) {
      const found = snapshotAt(cut);
      const { streamId } = found.row;
      const first = stream.findIndex(({ event }) => event.streamId === streamId);
      const since = stream.slice(first).filter((event) => recorded.indexOf(event) < cut);
      const rest = [...since, ...recorded.slice(cut)];
      const state = fold([{ type: "snapshot", snapshot: found }, ...rest]);
      const { toolCalls, ...shown } = view(state);
      const { toolCalls: calls, ...expected } = view(whole);
      expect(shown).toEqual({ ...expected, isHydrating: false });
      expect(calls.map(({ id }) => id)).toEqual(
        expect.arrayContaining(toolCalls.map(({ id }) => id)),
      );
    }
  });

  test("never shows less of an answer than before, until its message is there", () => {
    let before = begin();
    for (const event of recorded) {
      const next = reduce(before, event);
      if (before.partial && next.partial?.step === before.partial.step)
        expect(textOf(next).length).toBeGreaterThanOrEqual(textOf(before).length);
      else if (before.partial) expect(next.messages.at(-1)?.text).toBe(textOf(before));
      before = next;
    }
  });

  test("changes nothing that is not said to change, and no state in place", () => {
    let before = begin();
    for (const event of recorded) {
      const frozen = deepFrozen(before);
      const next = reduce(frozen, event);
      if (event.type === "stream" && event.event.__typename === "TextDelta") {
        expect(next.messages).toBe(before.messages);
        expect(next.toolCalls).toBe(before.toolCalls);
        expect(next.approvals).toBe(before.approvals);
      }
      before = next;
    }
  });
});

/** The recorded run with its subscriptions in another order, each in its own. */
function interleaved(seed: number): RunEvent[] {
  const draw = random(seed);
  const left: RunEvent[][] = [[...rows], [...messages], [...stream]];
  const order: RunEvent[] = [];
  while (left.some((events) => events.length > 0)) {
    const events = left[Math.floor(draw() * 3)] ?? [];
    // Bursts, as a slow connection gives them.
    order.push(...events.splice(0, 1 + Math.floor(draw() * 12)));
  }
  return order;
}

/** What a server that no longer has the pieces may give who resumes in the middle of a step. */
function merged({ version, memory }: RunState): RunEvent[] {
  const [held] = memory.held;
  if (version === null || held === undefined || held.messageSeq !== null) return [];
  const deltas = stream.filter(
    ({ event }) =>
      event.streamId === version.streamId &&
      event.step === held.step &&
      event.__typename === "TextDelta",
  );
  const last = deltas.at(-1)?.event;
  if (last?.__typename !== "TextDelta") return [];
  const text = deltas.map(({ event }) => (event as typeof last).text).join("");
  return [{ type: "stream", event: { ...last, offset: 0, text } }];
}

function snapshotAt(cut: number) {
  const told = recorded.slice(0, cut);
  const stored = told.flatMap((event) => (event.type === "message" ? [event.message] : []));
  const row = told.flatMap((event) => (event.type === "row" ? [event.row] : [])).at(-1);
  const steps = stored.filter(({ role }) => role === "ASSISTANT").length;
  const known = { ...(row ?? firstRow), steps };
  return { row: known, messages: stored, calls: [], children: [] };
}

function deepFrozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFrozen(part);
  }
  return value;
}

// ---------------------------------------------------------------- one thing at a time

const at = { streamId: "str_1", attempt: 1, step: 1, at: "2026-01-01T00:00:00.000Z" };
const told = (event: object): RunEvent => ({ type: "stream", event: { ...at, ...event } as Event });
const delta = (seq: number, offset: number, text: string, more: object = {}) =>
  told({ __typename: "TextDelta", seq, block: 0, offset, text, ...more });
const row = (more: Partial<Row>): RunEvent => ({
  type: "row",
  live: true,
  row: { ...firstRow, streamId: "str_1", cancelRequested: false, ...more },
});
const message = (seq: number, role: Message["role"], text: string): RunEvent => ({
  type: "message",
  message: { ...(messages[0]?.message as Message), seq, role, text },
});

describe("text", () => {
  test("is put in at its offset, which counts UTF-16 code units, block by block", () => {
    const family = "👨‍👩‍👧 at ";
    const state = fold([
      delta(1, 0, family),
      delta(2, family.length, "home"),
      delta(3, 0, "hm", { __typename: "ReasoningDelta", block: 1 }),
      delta(4, family.length, "work"),
    ]);
    expect(state.partial?.blocks).toEqual([
      { index: 0, kind: "text", text: `${family}work` },
      { index: 1, kind: "reasoning", text: "hm" },
    ]);
  });

  test("of an older attempt goes when a new one begins", () => {
    const again = delta(3, 0, "Yes", { attempt: 2 });
    expect(fold([delta(1, 0, "No"), again]).partial).toMatchObject({
      attempt: 2,
      blocks: [{ text: "Yes" }],
    });
    const restarted = told({ __typename: "StepRestarted", seq: 2, attempt: 2, reason: "again" });
    expect(fold([delta(1, 0, "No"), restarted]).partial).toBe(null);
  });

  test("that is not newer than the version is ignored", () => {
    const state = fold([delta(5, 0, "five")]);
    expect(state.version).toEqual({ streamId: "str_1", seq: 5 });
    expect(reduce(state, delta(5, 0, "5"))).toBe(state);
    expect(reduce(state, delta(4, 0, "four"))).toBe(state);
  });

  test("of a finished step stays until its message is there, while the next step is written", () => {
    const finished = told({ __typename: "StepFinished", seq: 2, messageSeq: 2, stopReason: null });
    const state = fold([
      message(1, "USER", "?"),
      delta(1, 0, "one"),
      finished,
      delta(3, 0, "two", { step: 2 }),
    ]);
    expect(textOf(state)).toBe("one");
    expect(textOf(fold([message(2, "ASSISTANT", "one")], state))).toBe("two");
  });

  test("whose message is there before its step is said to have finished is not shown beside it", () => {
    const state = fold([
      message(1, "USER", "?"),
      delta(1, 0, "one"),
      message(2, "ASSISTANT", "one"),
    ]);
    expect(state.partial).toBe(null);
    const finished = told({ __typename: "StepFinished", seq: 2, messageSeq: 2, stopReason: null });
    expect(textOf(fold([finished, delta(3, 0, "two", { step: 2 })], state))).toBe("two");
  });
});

describe("the status", () => {
  const result = told({
    __typename: "RunResult",
    seq: 9,
    status: "FAILED",
    finish: "ERROR",
    error: { code: "PROVIDER_ERROR", message: "down" },
  });

  test("is queued until a worker takes the run up, or text of it comes", () => {
    const state = fold([row({ status: "RUNNING", startedAt: null })]);
    expect(state.status).toBe("queued");
    expect(fold([delta(1, 0, "Hi")], state).status).toBe("running");
  });

  test("is that of the result before the row has it, and its error is the run's", () => {
    const state = fold([row({ status: "RUNNING" }), result]);
    expect([state.status, state.finish, state.isActive]).toEqual(["failed", "ERROR", false]);
    expect(state.error).toEqual({ code: "PROVIDER_ERROR", message: "down", retryable: true });
    expect(fold([{ type: "clearError" }], state).error).toBe(null);
  });

  test("follows the next generation whichever of row and stream tells of it first", () => {
    const state = fold([row({ status: "RUNNING" }), result]);
    expect(fold([row({ status: "RUNNING", streamId: "str_2" })], state).status).toBe("running");
    const failed = fold([row({ status: "FAILED", finish: "ERROR" })], state);
    const next = fold([delta(1, 0, "Again", { streamId: "str_2", step: 2 })], failed);
    expect([next.status, next.finish, next.error]).toEqual(["running", null, null]);
  });

  test("is cancelling from the deed on until the run has stopped", () => {
    const running = fold([row({ status: "RUNNING" }), { type: "cancelling", on: true }]);
    expect(running.status).toBe("cancelling");
    expect(fold([row({ status: "RUNNING" })], running).status).toBe("cancelling");
    expect(fold([row({ status: "CANCELLED" })], running).status).toBe("cancelled");
  });

  test("is no matter of the connection", () => {
    const error = { code: "NETWORK", message: "lost", retryable: true };
    const state = fold([
      row({ status: "RUNNING" }),
      { type: "connection", connection: { state: "reconnecting", error } },
    ]);
    expect([state.status, state.error, state.connection.error]).toEqual(["running", null, error]);
  });
});

describe("inputs", () => {
  const pending = { id: "inp_1", text: "Wait", mode: "QUEUE", createdAt: at.at } as const;
  const sending: RunEvent = { type: "sending", key: "k1", text: "Wait", mode: "QUEUE" };
  const states = ({ queue }: RunState) => queue.map(({ key, state }) => `${key} ${state}`);

  test("go from sending over queued to applied, and leave when their message is there", () => {
    const first = fold([row({ status: "RUNNING" }), message(1, "USER", "?"), sending]);
    expect(states(first)).toEqual(["k1 sending"]);
    const queued = { type: "sent", key: "k1", inputId: "inp_1", queued: true, row: null } as const;
    const second = fold([queued, row({ pendingInput: [pending] })], first);
    expect(states(second)).toEqual(["k1 queued"]);
    const applied = told({
      __typename: "InputApplied",
      seq: 1,
      inputIds: ["inp_1"],
      messageSeq: 2,
    });
    const third = fold([applied, row({ pendingInput: [] })], second);
    expect(states(third)).toEqual(["k1 applied"]);
    expect(states(fold([message(2, "USER", "Wait")], third))).toEqual([]);
  });

  test("of somebody else are shown, and go when the row no longer has them", () => {
    const state = fold([row({ pendingInput: [pending] })]);
    expect(states(state)).toEqual(["inp_1 queued"]);
    expect(states(fold([row({ pendingInput: [] })], state))).toEqual([]);
  });

  test("that the row told of before the answer came stand once", () => {
    const first = fold([row({ status: "RUNNING" }), sending, row({ pendingInput: [pending] })]);
    const queued = { type: "sent", key: "k1", inputId: "inp_1", queued: true, row: null } as const;
    expect(states(fold([queued], first))).toEqual(["k1 queued"]);
  });

  test("that began a turn leave with the next message of a user", () => {
    const begun = { type: "sent", key: "k1", inputId: null, queued: false, row: null } as const;
    const state = fold([message(1, "USER", "?"), sending, begun]);
    expect(states(state)).toEqual(["k1 applied"]);
    expect(states(fold([message(2, "USER", "Wait")], state))).toEqual([]);
  });

  test("that could not be sent keep their text", () => {
    const failure = { code: "NETWORK", message: "lost", retryable: true };
    const state = fold([sending, { type: "unsent", key: "k1", failure }]);
    expect(state.queue).toMatchObject([{ text: "Wait", state: "failed", error: failure }]);
  });
});

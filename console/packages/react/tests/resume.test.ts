import { expect, test } from "vitest";
import type { RunEvent } from "../src/events.js";
import { createRunStore } from "../src/store.js";
import { createFakeTransport } from "../src/testing.js";
import { firstRow, recorded, runId } from "./support/recorded.js";

/** A server on which the recorded run goes on, as far as `go` lets it. */
function server() {
  const transport = createFakeTransport();
  let now = 0;
  const past = () => recorded.slice(0, now);
  const rows = () => past().flatMap((event) => (event.type === "row" ? [event.row] : []));
  const messages = () =>
    past().flatMap((event) => (event.type === "message" ? [event.message] : []));
  const events = () => past().flatMap((event) => (event.type === "stream" ? [event.event] : []));
  const steps = () => messages().filter(({ role }) => role === "ASSISTANT").length;
  const streamId = () => events().at(-1)?.streamId ?? firstRow.streamId;
  const none = { nodes: [], pageInfo: { hasNextPage: false, hasPreviousPage: false } };

  transport.answer("Mark", () => ({ run: { steps: steps() } }));
  transport.answer("Transcript", () => ({ run: { messages: { ...none, nodes: messages() } } }));
  transport.answer("Run", () => {
    const row = { ...(rows().at(-1) ?? firstRow), steps: steps(), streamId: streamId() };
    return { run: { ...row, toolCalls: none, children: none } };
  });
  transport.serve("Rows", (_, sink) => sink.next({ run: rows().at(-1) ?? firstRow }));
  transport.serve("Messages", ({ afterSeq }, sink) => {
    for (const message of messages()) if (message.seq > afterSeq) sink.next({ messages: message });
  });
  transport.serve("Events", ({ streamId, after = 0 }, sink) => {
    const first = events().findIndex((event) => event.streamId === streamId);
    for (const event of events().slice(Math.max(0, first)))
      if (event.streamId !== streamId || event.seq > after) sink.next({ runStream: event });
  });

  const emit = (event: RunEvent) => {
    if (event.type === "row") transport.emit("Rows", { run: event.row });
    if (event.type === "message") transport.emit("Messages", { messages: event.message });
    if (event.type === "stream") transport.emit("Events", { runStream: event.event });
  };
  const go = (to: number) => {
    for (; now < Math.min(to, recorded.length); now += 1) {
      const event = recorded[now];
      if (event) emit(event);
    }
  };
  return { transport, go };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

/** What a store shows in the end: opened at one event, cut off at another, connected again at a third. */
async function shown(opened: number, cut: number, restored: number) {
  const { transport, go } = server();
  go(opened);
  const store = createRunStore({ transport, runId, throttleMs: 0 });
  store.subscribe(() => {});
  await settled();
  go(cut);
  transport.drop();
  go(restored);
  transport.restore();
  await settled();
  go(recorded.length);
  await settled();
  const { memory, version, ...view } = store.getSnapshot();
  store.dispose();
  return view;
}

test("a run is the same in the end wherever it was opened, cut off and connected again", async () => {
  const whole = await shown(0, recorded.length, recorded.length);
  expect([whole.status, whole.partial, whole.messages.length]).toEqual(["cancelled", null, 7]);
  const { toolCalls, ...expected } = whole;
  for (let cut = 1; cut < recorded.length; cut += 2)
    for (const away of [1, 7, 40]) {
      const { toolCalls: calls, ...view } = await shown(Math.floor(cut / 2), cut, cut + away);
      expect(view).toEqual(expected);
      // What was called in a generation that had ended by then comes with the row, which this server leaves out.
      for (const call of calls) expect(toolCalls).toContainEqual(call);
    }
});

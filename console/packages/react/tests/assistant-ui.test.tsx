// @vitest-environment happy-dom
import {
  type AssistantRuntime,
  AssistantRuntimeProvider,
  ComposerPrimitive,
  QueueItemPrimitive,
} from "@assistant-ui/react";
import { useSteersmanRuntime } from "@steersman/react/assistant-ui";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Message, Waiting as WaitingCall } from "../src/api.js";
import { saidOf } from "../src/assistant-ui/said.js";
import { SteersmanProvider } from "../src/index.js";
import {
  createFakeRun,
  createFakeTransport,
  type FakeRun,
  type FakeTransport,
} from "../src/testing.js";
import { Assistant } from "./support/assistant.js";

let transport: FakeTransport;

beforeEach(() => {
  transport = createFakeTransport();
});

afterEach(cleanup);

const show = (page: ReactNode) =>
  render(<SteersmanProvider transport={transport}>{page}</SteersmanProvider>);
const asked = (name: string) => transport.asked.filter((one) => one.name === name);
const articles = () => screen.queryAllByRole("article").map(({ textContent }) => textContent);
const shows = (...texts: string[]) => waitFor(() => expect(articles()).toEqual(texts));
const text = (offset: number, text: string, step = 1) =>
  ({ __typename: "TextDelta", step, block: 0, offset, text }) as const;

const say = (words: string) => {
  const field = screen.getByLabelText("Say");
  fireEvent.change(field, { target: { value: words } });
  fireEvent.submit(field.closest("form") as HTMLFormElement);
};

const call = (id: string, more: Partial<WaitingCall> = {}): WaitingCall => ({
  inputSchema: null,
  id,
  runId: "run_1",
  agent: "desk",
  step: 1,
  name: "refund",
  input: { amount: 120 },
  state: "WAITING",
  result: null,
  isError: false,
  startedAt: null,
  finishedAt: null,
  approvers: "owner",
  expiresAt: null,
  decidedBy: null,
  decidedAt: null,
  reason: null,
  childRun: null,
  ...more,
});

/** Stores a message with these blocks. */
function store(run: FakeRun, role: Message["role"], blocks: Message["blocks"]): void {
  const message = run.say(role, "");
  Object.assign(message, { blocks });
}

const asks = (run: FakeRun) => {
  run.say("USER", "Give it back");
  store(run, "ASSISTANT", [
    { __typename: "ReasoningBlock", text: "Hm. " },
    { __typename: "TextBlock", text: "I shall ask." },
    { __typename: "ToolUseBlock", toolCallId: "call_1", name: "refund", input: { amount: 120 } },
  ]);
};

describe("a run in assistant-ui", () => {
  test("is begun by what one says, and shows its answer while it is written", async () => {
    const run = createFakeRun(transport);
    transport.answer("Start", ({ input }) => {
      run.say("USER", input.input);
      return { startRun: { run: run.row, queued: false, inputId: null, errors: [] } };
    });
    show(<Assistant />);
    await act(async () => say("Hello?"));
    expect(asked("Start")[0]?.variables.input).toMatchObject({
      agent: "researcher",
      input: "Hello?",
    });
    await waitFor(() => expect(articles()[0]).toBe("Hello?"));
    act(() => void run.tell(text(0, "Hello ")));
    await shows("Hello?", "Hello ");
    const answer = screen.getAllByRole("article")[1];
    act(() => void run.tell(text(6, "to you")));
    await shows("Hello?", "Hello to you");
    act(() => {
      run.tell({ __typename: "StepFinished", step: 1, messageSeq: 2, stopReason: "end_turn" });
      run.say("ASSISTANT", "Hello to you");
      run.change({ status: "COMPLETED", steps: 1 });
    });
    await waitFor(() => expect(screen.getByText("Stop")).toHaveProperty("disabled", true));
    expect(articles()).toEqual(["Hello?", "Hello to you"]);
    // The same element: nothing was taken away and put there anew when the answer was stored.
    expect(screen.getAllByRole("article")[1]).toBe(answer);
  });

  test("shows the steps of a turn as one answer, with the calls of its tools and their results", async () => {
    const run = createFakeRun(transport, { status: "COMPLETED", steps: 2 });
    asks(run);
    store(run, "USER", [
      { __typename: "ToolResultBlock", toolCallId: "call_1", content: "done", isError: false },
    ]);
    run.say("ASSISTANT", "It is done.");
    const nodes = [call("call_1", { state: "SUCCEEDED", result: { paid: true } })];
    const pageInfo = { hasPreviousPage: false, hasNextPage: false };
    transport.answer("Run", () => ({
      run: { ...run.row, toolCalls: { nodes, pageInfo }, children: { nodes: [], pageInfo } },
    }));
    show(<Assistant runId="run_1" />);
    await shows("Give it back", 'Hm. I shall ask.refund{"amount":120}{"paid":true}It is done.');
  });

  test("is stopped by the composer", async () => {
    const run = createFakeRun(transport);
    run.say("USER", "Count");
    transport.answer("Cancel", () => ({ cancelRun: { run: run.row, errors: [] } }));
    show(<Assistant runId="run_1" />);
    await shows("Count", "");
    await act(async () => screen.getByText("Stop").click());
    expect(asked("Cancel")[0]?.variables.input).toEqual({ runId: "run_1" });
  });

  test("keeps the messages that stay as they are the same objects, whatever is written below", async () => {
    const run = createFakeRun(transport, { steps: 1 });
    run.say("USER", "Count");
    run.say("ASSISTANT", "One");
    run.say("USER", "Further");
    const { runtime } = await bare("run_1");
    const messages = () => runtime().thread.getState().messages;
    act(() => void run.tell(text(0, "Two", 2)));
    await waitFor(() => expect(messages()).toHaveLength(4));
    const before = messages();
    act(() => void run.tell(text(3, ", three", 2)));
    await waitFor(() => expect(messages()[3]?.content).toMatchObject([{ text: "Two, three" }]));
    expect(messages().map((message, at) => message === before[at])).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test("that failed says so in its answer", async () => {
    const error = { code: "PROVIDER_ERROR", message: "The model is down." };
    const run = createFakeRun(transport, { status: "FAILED", finish: "ERROR", error });
    run.say("USER", "Count");
    const { runtime } = await bare("run_1");
    await waitFor(() =>
      expect(runtime().thread.getState().messages.at(-1)).toMatchObject({
        role: "assistant",
        status: { type: "incomplete", reason: "error", error: "The model is down." },
      }),
    );
  });
});

describe("approvals in assistant-ui", () => {
  test("stand at their call, and are decided there", async () => {
    const run = createFakeRun(transport, { status: "WAITING", pendingCalls: [call("call_1")] });
    asks(run);
    transport.answer("Decide", () => ({ decideToolCalls: { run: run.row, errors: [] } }));
    show(<Assistant runId="run_1" />);
    const deny = await screen.findByText("Deny");
    await act(async () => deny.click());
    expect(asked("Decide")[0]?.variables.input).toMatchObject({
      runId: "run_1",
      decisions: [{ toolCallId: "call_1", decision: "DENY" }],
    });
    act(() => run.change({ status: "RUNNING", pendingCalls: [] }));
    await waitFor(() => expect(screen.queryByText("Deny")).toBe(null));
  });

  test("of a run below stand at the call that began it, and say who asks", async () => {
    const below = call("call_9", { runId: "run_2", name: "pay" });
    const run = createFakeRun(transport, { status: "WAITING", pendingCalls: [below] });
    asks(run);
    const childRun = { id: "run_2", agent: "desk", status: "WAITING" as const };
    const nodes = [call("call_1", { state: "RUNNING", approvers: null, childRun })];
    const pageInfo = { hasPreviousPage: false, hasNextPage: false };
    transport.answer("Run", () => ({
      run: { ...run.row, toolCalls: { nodes, pageInfo }, children: { nodes: [], pageInfo } },
    }));
    transport.answer("Decide", () => ({ decideToolCalls: { run: run.row, errors: [] } }));
    show(<Assistant runId="run_1" />);
    await screen.findByText("desk wants to call pay");
    await act(async () => screen.getByText("Approve").click());
    expect(asked("Decide")[0]?.variables.input).toMatchObject({
      runId: "run_2",
      decisions: [{ toolCallId: "call_9", decision: "APPROVE" }],
    });
  });

  test("a client's tool is answered by its card", async () => {
    const run = createFakeRun(transport, {
      status: "WAITING",
      pendingCalls: [call("call_1", { approvers: null })],
    });
    asks(run);
    transport.answer("Complete", () => ({ completeToolCall: { run: run.row, errors: [] } }));
    const { runtime } = await bare("run_1");
    await waitFor(() =>
      expect(runtime().thread.getState().messages.at(-1)?.status).toEqual({
        type: "requires-action",
        reason: "tool-calls",
      }),
    );
    const part = runtime().thread.getMessageByIndex(1).getMessagePartByToolCallId("call_1");
    await act(async () => part.addToolResult({ place: "here" }));
    expect(asked("Complete")[0]?.variables.input).toMatchObject({
      toolCallId: "call_1",
      result: { place: "here" },
      isError: false,
    });
  });
});

describe("what one says to a run at work in assistant-ui", () => {
  const queued = (id: string, text: string) =>
    ({ id, text, mode: "QUEUE", createdAt: "2026-01-01T00:00:00.000Z" }) as const;

  test("waits in the queue until it is read, and stands once in the thread then", async () => {
    const run = createFakeRun(transport);
    run.say("USER", "Count");
    run.tell(text(0, "One"));
    const { runtime } = await bare("run_1");
    await waitFor(() => expect(runtime().thread.getState().messages).toHaveLength(2));
    transport.answer("Steer", ({ input }) => {
      run.change({ pendingInput: [queued("inp_1", input.input)] });
      return { steerRun: { run: run.row, queued: true, inputId: "inp_1", errors: [] } };
    });
    act(() => runtime().thread.composer.setText("Faster"));
    await act(async () => runtime().thread.composer.send());
    expect(asked("Steer")[0]?.variables.input).toMatchObject({ input: "Faster", mode: "QUEUE" });
    const queue = () =>
      runtime()
        .thread.composer.getState()
        .queue.map(({ prompt }) => prompt);
    await waitFor(() => expect(queue()).toEqual(["Faster"]));
    act(() => {
      run.tell({ __typename: "InputApplied", step: 1, inputIds: ["inp_1"], messageSeq: 3 });
      run.tell({ __typename: "StepFinished", step: 1, messageSeq: 2, stopReason: "end_turn" });
      run.say("ASSISTANT", "One");
      run.change({ pendingInput: [], steps: 1 });
    });
    await waitFor(() => expect(queue()).toEqual([]));
    act(() => void run.tell(text(0, "Two", 2)));
    act(() => void run.say("USER", "Faster"));
    const said = () =>
      runtime()
        .thread.getState()
        .messages.map(({ role, content }) => {
          const [part] = content;
          return `${role} ${part?.type === "text" ? part.text : ""}`;
        });
    await waitFor(() =>
      expect(said()).toEqual(["user Count", "assistant One", "user Faster", "assistant Two"]),
    );
    // No second version of anything: what was shown on its way is gone, not a branch.
    await waitFor(() => expect(runtime().thread.export().messages).toHaveLength(4));
    for (const at of [0, 1, 2, 3])
      expect(runtime().thread.getMessageByIndex(at).getState().branchCount).toBe(1);
  });

  test("interrupts where it is sent so, or moved to the front of the queue", async () => {
    const run = createFakeRun(transport, { pendingInput: [queued("inp_1", "Wait")] });
    run.say("USER", "Count");
    const { runtime } = await bare("run_1");
    const accepted = { run: run.row, queued: true, inputId: "inp_2", errors: [] };
    transport.answer("Steer", () => ({ steerRun: accepted }));
    transport.answer("Withdraw", () => ({ withdrawInput: { ...accepted, withdrawn: true } }));
    await waitFor(() => expect(runtime().thread.composer.getState().queue).toHaveLength(1));
    act(() => runtime().thread.composer.setText("Stop that"));
    await act(async () => runtime().thread.composer.send({ steer: true }));
    await act(async () => screen.getAllByText("Interrupt")[0]?.click());
    const sent = asked("Steer").map(({ variables }) => variables.input);
    expect(sent).toMatchObject([
      { input: "Stop that", mode: "INTERRUPT" },
      { input: "Wait", mode: "INTERRUPT" },
    ]);
    expect(asked("Withdraw")[0]?.variables.input).toMatchObject({ inputId: "inp_1" });
  });

  test("is taken back from the queue", async () => {
    const run = createFakeRun(transport, { pendingInput: [queued("inp_1", "Wait")] });
    const { runtime } = await bare("run_1");
    await waitFor(() => expect(runtime().thread.composer.getState().queue).toHaveLength(1));
    transport.answer("Withdraw", () => {
      run.change({ pendingInput: [] });
      return { withdrawInput: { run: run.row, withdrawn: true, errors: [] } };
    });
    await act(async () => screen.getByText("Withdraw").click());
    await waitFor(() => expect(runtime().thread.composer.getState().queue).toEqual([]));
  });

  test("has its files with it", async () => {
    const run = createFakeRun(transport, { status: "COMPLETED" });
    const { runtime } = await bare("run_1");
    await waitFor(() => expect(runtime().thread.getState().isLoading).toBe(false));
    transport.answer("Steer", () => ({
      steerRun: { run: run.row, queued: false, inputId: null, errors: [] },
    }));
    const { composer } = runtime().thread;
    act(() => composer.setText("Look"));
    await act(async () =>
      composer.addAttachment(new File(["png"], "a.png", { type: "image/png" })),
    );
    await act(async () =>
      composer.addAttachment(new File(["pdf"], "b.pdf", { type: "application/pdf" })),
    );
    await act(async () => composer.send());
    await waitFor(() => expect(asked("Steer")).toHaveLength(1));
    expect(asked("Steer")[0]?.variables.input.attachments).toEqual([
      { name: "a.png", mediaType: "image/png", data: btoa("png") },
      { name: "b.pdf", mediaType: "application/pdf", data: btoa("pdf") },
    ]);
  });

  test("is refused where it has a file that a run can't take, and stays in the composer", async () => {
    createFakeRun(transport, { status: "COMPLETED" });
    const { runtime } = await bare("run_1");
    await waitFor(() => expect(runtime().thread.getState().isLoading).toBe(false));
    const { composer } = runtime().thread;
    act(() => composer.setText("Look"));
    const note = new File(["note"], "a.txt", { type: "text/plain" });
    await expect(composer.addAttachment(note)).rejects.toThrow();
    expect(composer.getState()).toMatchObject({ text: "Look", attachments: [] });
    const file = {
      type: "file",
      data: "https://example.com/a.pdf",
      mimeType: "application/pdf",
    } as const;
    const message = { role: "user", content: [{ type: "text", text: "Look" }, file] } as const;
    expect(() => saidOf(message as never)).toThrow("with its content");
    const sound = { type: "audio", audio: { data: "", format: "mp3" } } as const;
    expect(() => saidOf({ ...message, content: [sound] } as never)).toThrow("no audio");
  });
});

/** A run as a runtime alone, with a composer so that it is mounted as in a page. */
async function bare(runId: string): Promise<{ runtime: () => AssistantRuntime }> {
  const held: { runtime?: AssistantRuntime } = {};
  render(
    <SteersmanProvider transport={transport}>
      <Bare runId={runId} held={held} />
    </SteersmanProvider>,
  );
  return { runtime: () => held.runtime as AssistantRuntime };
}

function Bare({ runId, held }: { runId: string; held: { runtime?: AssistantRuntime } }) {
  const runtime = useSteersmanRuntime({ runId });
  held.runtime = runtime;
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ComposerPrimitive.Root>
        <ComposerPrimitive.Queue>
          {() => (
            <>
              <QueueItemPrimitive.Steer>Interrupt</QueueItemPrimitive.Steer>
              <QueueItemPrimitive.Remove>Withdraw</QueueItemPrimitive.Remove>
            </>
          )}
        </ComposerPrimitive.Queue>
        <ComposerPrimitive.Input />
      </ComposerPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

import type { Event, Message, Row } from "./api.js";
import type { FakeTransport } from "./fake-transport.js";

/** An event without what a run fills in. */
type Told = Event extends infer One
  ? One extends Event
    ? Omit<One, "streamId" | "seq" | "at" | "attempt"> &
        Partial<Pick<Event, "streamId" | "seq" | "attempt">>
    : never
  : never;

/** A run that a test plays. It is served as the API serves one: from any number on, each message once. */
export interface FakeRun {
  readonly row: Row;
  readonly messages: readonly Message[];
  readonly events: readonly Event[];
  /** Changes the row. */
  change(more: Partial<Row>): void;
  /** Stores a message, and shows it to who follows them. */
  say(role: Message["role"], text: string): Message;
  /** Writes an event into the current stream, and shows it to who follows it. */
  tell(event: Told): Event;
}

/** A run on a fake transport, RUNNING, with nothing said yet. `more` is what its row has besides. */
export function createFakeRun(transport: FakeTransport, more: Partial<Row> = {}): FakeRun {
  return new Played(transport, { ...rowOf(more.id ?? "run_1"), ...more });
}

const AT = "2026-01-01T00:00:00.000Z";

class Played implements FakeRun {
  readonly messages: Message[] = [];
  readonly events: Event[] = [];
  #changes = 0;

  constructor(
    readonly transport: FakeTransport,
    public row: Row,
  ) {
    const page = { hasNextPage: false, endCursor: null, hasPreviousPage: false, startCursor: null };
    transport.answer("Mark", () => ({ run: { steps: this.row.steps } }));
    transport.answer("Transcript", () => ({
      run: { messages: { nodes: [...this.messages], pageInfo: page } },
    }));
    transport.answer("Run", () => ({
      run: {
        ...this.row,
        toolCalls: { nodes: [], pageInfo: page },
        children: { nodes: [], pageInfo: page },
      },
    }));
    transport.answer("EarlierCalls", () => ({ run: { toolCalls: { nodes: [], pageInfo: page } } }));
    transport.serve("Rows", (_, sink) => sink.next({ run: this.row }));
    transport.serve("Messages", ({ afterSeq }, sink) => {
      const wanted = this.messages.filter(({ seq }) => seq > afterSeq);
      for (const messages of wanted) sink.next({ messages });
    });
    transport.serve("Events", ({ streamId, after = 0 }, sink) => {
      for (const runStream of this.#behind(streamId ?? this.row.streamId, after))
        sink.next({ runStream });
    });
  }

  change(more: Partial<Row>): void {
    this.#changes += 1;
    const updatedAt = new Date(Date.parse(AT) + this.#changes).toISOString();
    this.row = { ...this.row, updatedAt, ...more };
    this.transport.emit("Rows", { run: this.row });
  }

  say(role: Message["role"], text: string): Message {
    const seq = this.messages.length + 1;
    const message: Message = {
      id: `msg_${seq}`,
      runId: this.row.id,
      seq,
      role,
      text,
      model: null,
      stopReason: null,
      createdAt: AT,
      blocks: [{ __typename: "TextBlock", text }],
      usage: null,
    };
    this.messages.push(message);
    this.transport.emit("Messages", { messages: message });
    return message;
  }

  tell(told: Told): Event {
    const streamId = told.streamId ?? this.row.streamId ?? "str_1";
    const last = this.events.findLast((event) => event.streamId === streamId);
    const seq = told.seq ?? (last?.seq ?? 0) + 1;
    const event = { attempt: 1, ...told, streamId, seq, at: AT } as Event;
    this.events.push(event);
    this.transport.emit("Events", { runStream: event });
    return event;
  }

  /** The events behind number `after` of a stream, and those of every later stream. */
  #behind(streamId: string | null, after: number): Event[] {
    const seen = this.events.findLastIndex((one) => one.streamId === streamId && one.seq <= after);
    const first = this.events.findIndex((one) => one.streamId === streamId);
    if (seen < 0 && first < 0) return [];
    return this.events.slice(seen < 0 ? first : seen + 1);
  }
}

function rowOf(id: string): Row {
  return {
    id,
    agent: "assistant",
    userId: "dev",
    status: "RUNNING",
    finish: null,
    title: null,
    streamId: "str_1",
    cancelRequested: false,
    steps: 0,
    output: null,
    metadata: {},
    createdAt: AT,
    startedAt: AT,
    updatedAt: AT,
    error: null,
    pendingInput: [],
    pendingCalls: [],
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, cost: "0" },
    budget: null,
    parent: null,
    forkedFrom: null,
  };
}

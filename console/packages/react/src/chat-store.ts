import type { Outcome } from "./actions.js";
import type { ChatMessage } from "./api.js";
import { ask } from "./ask.js";
import { CHAT_MESSAGES, POST, STOP } from "./documents.js";
import { follow } from "./follow.js";
import { inTurn } from "./in-turn.js";
import { newKey } from "./keys.js";
import type { Connection, Failure } from "./state.js";
import { failureOf } from "./status.js";
import type { Transport } from "./transport.js";
import { Watched } from "./watched.js";

export interface ChatOptions {
  transport: Transport;
  threadId: string;
  throttleMs?: number;
  key?: () => string;
}

/** A message on its way; `failed` ones stand here so that their text is not lost. */
export interface OutgoingMessage {
  key: string;
  text: string;
  state: "sending" | "failed";
  error: Failure | null;
}

/** A thread of a chat. Messages grow while an agent writes them. */
export interface ChatView {
  threadId: string;
  messages: ChatMessage[];
  outgoing: OutgoingMessage[];
  /** Whether an agent is writing. */
  isActive: boolean;
  error: Failure | null;
  connection: Connection;
}

export interface ChatStore {
  subscribe(listener: () => void): () => void;
  getSnapshot(): ChatView;
  /** Posts a message; agents who are asked answer in messages of their own. */
  send(text: string): Promise<Outcome>;
  /** Sends a message again that failed, under its own key. */
  resend(key: string): Promise<Outcome>;
  /** Drops a message that failed. */
  discard(key: string): void;
  /** Stops every agent that is writing, or the one of one run. */
  stop(runId?: string): Promise<Outcome>;
  clearError(): void;
  dispose(): void;
}

/** A store of one thread. */
export function createChatStore(options: ChatOptions): ChatStore {
  const live = new LiveChat(options);
  const { watched } = live;
  return {
    subscribe: (listener) => watched.subscribe(listener),
    getSnapshot: () => watched.getSnapshot(),
    send: (text) => live.send(live.key(), text),
    async resend(key) {
      const failed = watched.state.outgoing.find((known) => known.key === key);
      return failed?.state === "failed" ? live.send(key, failed.text) : { error: null };
    },
    discard: (key) => live.drop(key),
    stop: (runId) => live.stop(runId),
    clearError: () => live.show({ error: null }),
    dispose: () => watched.dispose(),
  };
}

class LiveChat {
  readonly watched: Watched<ChatView>;
  readonly key: () => string;
  readonly #transport: Transport;
  readonly #gone = () => this.watched.disposed;
  readonly #next = inTurn();
  /** In which message each outgoing one has become. */
  readonly #posted = new Map<string, string>();

  constructor({ transport, threadId, throttleMs = 80, key = newKey }: ChatOptions) {
    this.#transport = transport;
    this.key = key;
    const connection = transport.connection.getSnapshot();
    const rest = { isActive: false, error: null, connection };
    const view = { threadId, messages: [], outgoing: [], ...rest };
    this.watched = new Watched<ChatView>(view, throttleMs, () => this.#open());
  }

  async send(key: string, text: string): Promise<Outcome> {
    const { threadId, outgoing } = this.watched.state;
    const others = outgoing.filter((known) => known.key !== key);
    this.show({ outgoing: [...others, { key, text, state: "sending", error: null }] });
    const variables = { input: { threadId, text, key } };
    // What is said first stands first.
    const { payload, error } = await this.#next(() =>
      ask(this.#transport, this.#gone, POST, variables, "postMessage"),
    );
    if (error) {
      const failed = { key, text, state: "failed", error } as const;
      const now = this.watched.state.outgoing.map((known) => (known.key === key ? failed : known));
      this.show({ outgoing: now, error });
      return { error };
    }
    if (payload.message) this.#posted.set(key, payload.message.id);
    else this.drop(key);
    this.show({ outgoing: this.#stillOut(this.watched.state.messages) });
    return { error: null };
  }

  drop(key: string): void {
    this.show({ outgoing: this.watched.state.outgoing.filter((known) => known.key !== key) });
  }

  async stop(only?: string): Promise<Outcome> {
    const writing = this.watched.state.messages.filter(({ status }) => status === "STREAMING");
    const runIds = new Set(writing.flatMap(({ runId }) => (runId === null ? [] : [runId])));
    const wanted = only === undefined ? [...runIds] : [only];
    const answers = await Promise.all(
      wanted.map((runId) =>
        ask(this.#transport, this.#gone, STOP, { input: { runId } }, "cancelRun"),
      ),
    );
    const error = answers.find((answer) => answer.error)?.error ?? null;
    if (error) this.show({ error });
    return { error };
  }

  show(more: Partial<ChatView>, now = true): void {
    this.watched.set({ ...this.watched.state, ...more }, now);
  }

  #open(): () => void {
    const { threadId } = this.watched.state;
    const { connection } = this.#transport;
    const told = () => this.show({ connection: connection.getSnapshot() });
    const unlisten = connection.subscribe(told);
    told();
    const variables = () => ({ threadId, afterSeq: settledSeq(this.watched.state.messages) });
    const leave = follow(this.#transport, CHAT_MESSAGES, variables, {
      next: ({ chatMessages }) => this.#put(chatMessages),
      refused: (error) => this.show({ error: failureOf(error) }),
    });
    return () => {
      unlisten();
      leave();
    };
  }

  #put(message: ChatMessage): void {
    const others = this.watched.state.messages.filter(({ seq }) => seq !== message.seq);
    const messages = [...others, message].sort((a, b) => a.seq - b.seq);
    const isActive = messages.some(({ status }) => status === "STREAMING");
    this.show({ messages, isActive, outgoing: this.#stillOut(messages) }, false);
  }

  /** The outgoing messages that are not in the thread. */
  #stillOut(messages: ChatMessage[]): OutgoingMessage[] {
    const ids = new Set(messages.map(({ id }) => id));
    return this.watched.state.outgoing.filter(({ key }) => !ids.has(this.#posted.get(key) ?? ""));
  }
}

/** All messages up to this one were settled when they came, so a new connection need not give them again. */
function settledSeq(messages: ChatMessage[]): number {
  const writing = messages.find(({ status }) => status === "STREAMING");
  return writing ? writing.seq - 1 : (messages.at(-1)?.seq ?? 0);
}

import { observable } from "./observable.js";
import type { Operation } from "./operation.js";
import type { Connection } from "./state.js";
import { type Sink, type Transport, TransportError } from "./transport.js";

// biome-ignore lint/suspicious/noExplicitAny: what a test answers is not the compiler's to check
type Loose = any;

/** What was asked: the operation's name, as it stands in its text, and its variables. */
export interface Asked {
  name: string;
  variables: Loose;
}

/** A subscription that is followed. */
export interface Followed extends Asked {
  sink: Sink<Loose>;
}

/** A transport whose server is the test. */
export interface FakeTransport extends Transport {
  /** All queries and mutations so far. */
  readonly asked: Asked[];
  /** The subscriptions that stand. */
  readonly followed: readonly Followed[];
  /** How an operation is answered from now on; where `answer` throws, the request fails with that. */
  answer(name: string, answer: (variables: Loose) => unknown): void;
  /** How a subscription begins: called each time it is asked for, also after a lost connection. */
  serve(name: string, begin: (variables: Loose, sink: Sink<Loose>) => void): void;
  /** Gives every standing subscription of a name a result. */
  emit(name: string, result: unknown): void;
  /** Loses the connection: requests fail, and subscriptions stand still. */
  drop(): void;
  /** Has the connection again, and asks for every subscription anew, with its variables as they are now. */
  restore(): void;
}

/** A transport without a server; it is connected from the beginning. */
export function createFakeTransport(): FakeTransport {
  return new Fake();
}

class Fake implements FakeTransport {
  readonly asked: Asked[] = [];
  readonly connection = observable<Connection>({ state: "live", error: null });
  readonly #answers = new Map<string, (variables: Loose) => unknown>();
  readonly #serving = new Map<string, (variables: Loose, sink: Sink<Loose>) => void>();
  readonly #followed = new Set<Followed & { again: () => Loose }>();
  #connected = true;

  get followed(): readonly Followed[] {
    return [...this.#followed];
  }

  answer(name: string, answer: (variables: Loose) => unknown): void {
    this.#answers.set(name, answer);
  }

  serve(name: string, begin: (variables: Loose, sink: Sink<Loose>) => void): void {
    this.#serving.set(name, begin);
  }

  emit(name: string, result: unknown): void {
    if (!this.#connected) return;
    for (const one of this.followed) if (one.name === name) one.sink.next(result);
  }

  drop(): void {
    this.#connected = false;
    const error = { code: "NETWORK", message: "The connection was lost.", retryable: true };
    this.connection.set({ state: "reconnecting", error });
  }

  restore(): void {
    this.#connected = true;
    this.connection.set({ state: "live", error: null });
    for (const one of this.#followed) this.#begin(one);
  }

  query<Result, Variables>(operation: Operation<Result, Variables>, variables: Variables) {
    return this.#request(operation, variables);
  }

  mutate<Result, Variables>(operation: Operation<Result, Variables>, variables: Variables) {
    return this.#request(operation, variables);
  }

  subscribe<Result, Variables>(
    operation: Operation<Result, Variables>,
    variables: () => Variables,
    sink: Sink<Result>,
  ): () => void {
    const name = nameOf(operation.text);
    const one = { name, variables: null, sink, again: variables };
    this.#followed.add(one);
    if (this.#connected) this.#begin(one);
    return () => void this.#followed.delete(one);
  }

  async #request<Result, Variables>(
    operation: Operation<Result, Variables>,
    variables: Variables,
  ): Promise<Result> {
    const name = nameOf(operation.text);
    this.asked.push({ name, variables });
    if (!this.#connected) throw new TransportError("NETWORK", "The connection was lost.");
    const answer = this.#answers.get(name);
    if (answer === undefined) throw new TransportError("INTERNAL", `Nobody answers ${name}.`);
    return (await answer(variables)) as Result;
  }

  #begin(one: Followed & { again: () => Loose }): void {
    one.variables = one.again();
    queueMicrotask(() => {
      if (!this.#connected || !this.#followed.has(one)) return;
      one.sink.opened?.();
      this.#serving.get(one.name)?.(one.variables, one.sink);
    });
  }
}

function nameOf(text: string): string {
  return /(?:query|mutation|subscription)\s+(\w+)/.exec(text)?.[1] ?? "";
}

import type { Outcome } from "./actions.js";
import type { Decision, Json, Waiting } from "./api.js";
import { ask } from "./ask.js";
import { APPROVAL_CHANGES, APPROVALS, DECIDE_ALONE } from "./documents.js";
import { follow, persist, twice } from "./follow.js";
import { newKey } from "./keys.js";
import type { Approval, Connection, Failure } from "./state.js";
import { failureOf } from "./status.js";
import { asTransportError, type Transport } from "./transport.js";
import { Watched } from "./watched.js";

/** What waits for the viewer, of all runs that they may decide for, the oldest first. */
export interface ApprovalsView {
  approvals: Approval[];
  isLoading: boolean;
  error: Failure | null;
  connection: Connection;
}

export interface ApprovalsStore {
  subscribe(listener: () => void): () => void;
  getSnapshot(): ApprovalsView;
  approve(callId: string, options?: { input?: Json; reason?: string }): Promise<Outcome>;
  deny(callId: string, options?: { reason?: string }): Promise<Outcome>;
  clearError(): void;
  dispose(): void;
}

/** A store of what waits for the viewer. */
export function createApprovalsStore(options: {
  transport: Transport;
  key?: () => string;
}): ApprovalsStore {
  const live = new LiveApprovals(options.transport, options.key ?? newKey);
  const { watched } = live;
  return {
    subscribe: (listener) => watched.subscribe(listener),
    getSnapshot: () => watched.getSnapshot(),
    approve: (id, more = {}) => live.decide(id, "APPROVE", more),
    deny: (id, more = {}) => live.decide(id, "DENY", more),
    clearError: () => live.show({ error: null }),
    dispose: () => watched.dispose(),
  };
}

class LiveApprovals {
  readonly watched: Watched<ApprovalsView>;
  /** The calls that changed since a reading began: what was read of them is older. */
  #changed = new Set<string>();

  constructor(
    readonly transport: Transport,
    readonly key: () => string,
  ) {
    const connection = transport.connection.getSnapshot();
    const view = { approvals: [], isLoading: true, error: null, connection };
    this.watched = new Watched<ApprovalsView>(view, 80, () => this.#open());
  }

  async decide(
    toolCallId: string,
    decision: Decision,
    more: { input?: Json; reason?: string },
  ): Promise<Outcome> {
    const call = this.watched.state.approvals.find(({ id }) => id === toolCallId);
    if (call === undefined)
      return this.#failed({ code: "CALL_NOT_FOUND", message: "No such call waits for you." });
    this.#mark(toolCallId, decision);
    const decisions = [{ toolCallId, decision, ...more }];
    const input = { runId: call.runId, decisions, key: this.key() };
    const gone = () => this.watched.disposed;
    const answered = await ask(this.transport, gone, DECIDE_ALONE, { input }, "decideToolCalls");
    this.#mark(toolCallId, null);
    if (answered.error) return this.#failed(answered.error);
    this.#put({ ...call, state: "READY" });
    return { error: null };
  }

  show(more: Partial<ApprovalsView>): void {
    this.watched.set({ ...this.watched.state, ...more }, true);
  }

  #open(): () => void {
    const session = { open: true };
    const { connection } = this.transport;
    const told = () => this.show({ connection: connection.getSnapshot() });
    const unlisten = connection.subscribe(told);
    told();
    const look = twice(() => void this.#read(session));
    const leave = follow(this.transport, APPROVAL_CHANGES, () => ({}), {
      // What ceased to wait during a pause is not told again, so the list is read too.
      opened: () => look.again(),
      next: ({ approvals }) => this.#put(approvals),
      refused: (error) => this.show({ error: failureOf(error), isLoading: false }),
    });
    return () => {
      session.open = false;
      unlisten();
      look.stop();
      leave();
    };
  }

  async #read(session: { open: boolean }): Promise<void> {
    const changed = new Set<string>();
    this.#changed = changed;
    try {
      const gone = () => !session.open || this.#changed !== changed;
      const tries = Number.POSITIVE_INFINITY;
      const read = await persist(() => this.#all(), { tries, gone });
      if (gone()) return;
      const { approvals } = this.watched.state;
      const newer = approvals.filter(({ id }) => changed.has(id));
      const rest = read.filter(({ id }) => !changed.has(id));
      this.show({ approvals: inOrder([...rest, ...newer]), isLoading: false, error: null });
    } catch (error) {
      this.show({ error: failureOf(asTransportError(error)), isLoading: false });
    }
  }

  async #all(): Promise<Approval[]> {
    const found: Approval[] = [];
    for (let after: string | null = null; ; ) {
      const {
        nodes,
        pageInfo,
      }: { nodes: Waiting[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } = (
        await this.transport.query(APPROVALS, { after })
      ).approvals;
      found.push(...nodes.map((call) => ({ ...call, deciding: null })));
      after = pageInfo.endCursor;
      if (!pageInfo.hasNextPage) return found;
    }
  }

  #put(call: Waiting): void {
    this.#changed.add(call.id);
    const others = this.watched.state.approvals.filter(({ id }) => id !== call.id);
    const waits = call.state === "WAITING" ? [{ ...call, deciding: null }] : [];
    this.show({ approvals: inOrder([...others, ...waits]) });
  }

  #mark(callId: string, deciding: Decision | null): void {
    const approvals = this.watched.state.approvals.map((call) =>
      call.id === callId ? { ...call, deciding } : call,
    );
    this.show({ approvals });
  }

  #failed(error: { code: string; message: string }): Outcome {
    const failure = failureOf(error);
    this.show({ error: failure });
    return { error: failure };
  }
}

/** The ids of calls rise with time. */
function inOrder(calls: Approval[]): Approval[] {
  return calls.sort((a, b) => a.id.localeCompare(b.id));
}

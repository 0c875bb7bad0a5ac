import type { Call, Message, Row } from "./api.js";
import { EARLIER_CALLS, FURTHER_CHILDREN, MARK, RUN, TRANSCRIPT } from "./documents.js";
import type { Snapshot } from "./events.js";
import { type Transport, TransportError } from "./transport.js";

// A run that finishes steps faster than they can be read is read as it is: at worst text stands twice for a moment.
const ROUNDS = 5;

/**
 * A run as it is now: its row, calls and children, and exactly the messages that its steps have stored. Transcripts come in
 * pages, so a step may end while they are read: then what came since is read too, until nothing did.
 *
 * Throws TransportError; RUN_NOT_FOUND where there is no such run for the viewer.
 */
export async function hydrate(transport: Transport, id: string): Promise<Snapshot> {
  let steps = present((await transport.query(MARK, { id })).run).steps;
  let after: string | null = null;
  const messages: Message[] = [];
  for (let round = 1; ; round += 1) {
    after = await readOn(transport, id, after, messages);
    const run = present((await transport.query(RUN, { id })).run);
    if (run.steps === steps || round === ROUNDS) return whole(transport, run, messages);
    steps = run.steps;
  }
}

type Read = Row & {
  toolCalls: { nodes: Call[]; pageInfo: { hasPreviousPage: boolean; startCursor: string | null } };
  children: {
    nodes: Snapshot["children"];
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

async function whole(transport: Transport, run: Read, messages: Message[]): Promise<Snapshot> {
  const { toolCalls, children, ...row } = run;
  const calls = [...(await earlierCalls(transport, run)), ...toolCalls.nodes];
  const subruns = [...children.nodes, ...(await furtherChildren(transport, run))];
  return { row, messages, calls, children: subruns };
}

/** Reads the messages behind a cursor into `messages`; the cursor of the last. */
async function readOn(
  transport: Transport,
  id: string,
  after: string | null,
  messages: Message[],
): Promise<string | null> {
  for (;;) {
    const page = present((await transport.query(TRANSCRIPT, { id, after })).run).messages;
    messages.push(...page.nodes);
    after = page.pageInfo.endCursor ?? after;
    if (!page.pageInfo.hasNextPage) return after;
  }
}

async function earlierCalls(transport: Transport, { id, toolCalls }: Read): Promise<Call[]> {
  const found: Call[] = [];
  let { hasPreviousPage, startCursor: before } = toolCalls.pageInfo;
  while (hasPreviousPage) {
    const page = present((await transport.query(EARLIER_CALLS, { id, before })).run).toolCalls;
    found.unshift(...page.nodes);
    ({ hasPreviousPage, startCursor: before } = page.pageInfo);
  }
  return found;
}

async function furtherChildren(transport: Transport, { id, children }: Read) {
  const found: Snapshot["children"] = [];
  let { hasNextPage, endCursor: after } = children.pageInfo;
  while (hasNextPage) {
    const page = present((await transport.query(FURTHER_CHILDREN, { id, after })).run).children;
    found.push(...page.nodes);
    ({ hasNextPage, endCursor: after } = page.pageInfo);
  }
  return found;
}

function present<Value>(value: Value | null): Value {
  if (value === null) throw new TransportError("RUN_NOT_FOUND", "There is no such run.");
  return value;
}

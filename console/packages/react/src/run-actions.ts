import type { Outcome, RunActions, StartOptions, SteerOptions, SteerOutcome } from "./actions.js";
import type * as api from "./api.js";
import { type Answered, ask, type Payload } from "./ask.js";
import { type Desk, NO_RUN } from "./desk.js";
import { CANCEL, COMPLETE, DECIDE, RETRY, START, STEER, WITHDRAW } from "./documents.js";
import { forkAction } from "./fork.js";
import { inTurn } from "./in-turn.js";
import type { Operation } from "./operation.js";
import type { Failure, QueuedAttachment } from "./state.js";
import { failureOf } from "./status.js";

type RunPayload = Payload & { run?: api.Row | null };

const NO_AGENT = failureOf({
  code: "AGENT_NOT_FOUND",
  message: "Which agent to start is not said.",
});

/** The actions of a run on a desk. */
export function runActions(desk: Desk): Omit<RunActions, "connect" | "disconnect"> {
  const inputs = inputActions(desk);
  const deciding = decisionActions(desk);
  return {
    ...inputs,
    ...deciding,
    async cancel(reason) {
      desk.dispatch({ type: "cancelling", on: true });
      const outcome = await onRun(desk, (runId) =>
        mutate(desk, CANCEL, { input: { runId, ...(reason && { reason }) } }, "cancelRun"),
      );
      if (outcome.error) desk.dispatch({ type: "cancelling", on: false });
      return outcome;
    },
    complete(toolCallId, result, { isError = false } = {}) {
      const key = desk.key();
      return onRun(desk, (own) => {
        const runId = desk.state().clientCalls.find(({ id }) => id === toolCallId)?.runId ?? own;
        const input = { runId, toolCallId, result, isError, key };
        return mutate(desk, COMPLETE, { input }, "completeToolCall");
      });
    },
    retry({ budget } = {}) {
      const key = desk.key();
      return onRun(desk, (runId) =>
        mutate(desk, RETRY, { input: { runId, key, ...(budget && { budget }) } }, "retryRun"),
      );
    },
    fork: forkAction(desk),
    clearError: () => desk.dispatch({ type: "clearError" }),
  };
}

// ---------------------------------------------------------------- inputs

type Send = () => Promise<SteerOutcome & { runId: string | null }>;

function inputActions(desk: Desk): Pick<RunActions, "start" | "steer" | "resend" | "withdraw"> {
  /** How each input that failed is sent again. */
  const sends = new Map<string, Send>();

  // What is said first is heard first, and what is said before there is a run is said to the one that is begun.
  const next = inTurn();

  const send = async (key: string, how: Send) => {
    const outcome = await next(how);
    if (outcome.error) sends.set(key, how);
    else sends.delete(key);
    return outcome;
  };

  const say = (
    text: string,
    { mode = "QUEUE", attachments }: SteerOptions,
    how: (key: string) => Send,
  ) => {
    const key = desk.key();
    const files = namesOf(attachments);
    desk.dispatch({ type: "sending", key, text, mode, attachments: files });
    return send(key, how(key));
  };

  return {
    start: (input, options = {}) =>
      say(input, filesOf(options), (key) => () => begin(desk, key, input, options)),
    steer: (text, options = {}) =>
      say(text, options, (key) => () => {
        const { runId } = desk.state();
        const { attachments } = options;
        if (runId === null) return begin(desk, key, text, attachments ? { attachments } : {});
        return steer(desk, key, runId, text, options);
      }),
    async resend(key) {
      const failed = desk.state().queue.find((input) => input.key === key);
      const how = sends.get(key);
      if (failed?.state !== "failed" || how === undefined)
        return { queued: false, inputId: null, error: NO_RUN };
      const { text, mode, attachments } = failed;
      desk.dispatch({ type: "sending", key, text, mode, attachments });
      return send(key, how);
    },
    withdraw: (key) => withdraw(desk, key),
  };
}

function filesOf({ attachments }: StartOptions): SteerOptions {
  return attachments ? { attachments } : {};
}

/** What the queue shows of files: not their content, which may be large. */
function namesOf(attachments: api.AttachmentInput[] = []): QueuedAttachment[] {
  return attachments.map(({ name = null, mediaType }) => ({ name, mediaType }));
}

async function begin(desk: Desk, key: string, input: string, options: StartOptions) {
  const { runId, agent } = desk.state();
  if (agent === null) return unsent(desk, key, NO_AGENT);
  const blank = runId === null && options.overrides?.history == null;
  desk.dispatch({ type: "starting", on: true, blank });
  const more = runId === null ? options : { ...options, runId };
  const answered = await ask(
    desk.transport,
    desk.gone,
    START,
    { input: { agent, input, key, ...more } },
    "startRun",
  );
  desk.dispatch({ type: "starting", on: false });
  return settled(desk, key, answered);
}

async function steer(desk: Desk, key: string, runId: string, text: string, options: SteerOptions) {
  const { mode = "QUEUE", attachments } = options;
  const input = { runId, input: text, mode, key, ...(attachments && { attachments }) };
  return settled(desk, key, await ask(desk.transport, desk.gone, STEER, { input }, "steerRun"));
}

function settled(
  desk: Desk,
  key: string,
  { payload, error }: Answered<RunPayload & { queued: boolean; inputId: string | null }>,
): SteerOutcome & { runId: string | null } {
  if (error) return unsent(desk, key, error);
  const { run = null, queued, inputId } = payload;
  desk.dispatch({ type: "sent", key, inputId, queued, row: run });
  return { runId: run?.id ?? null, queued, inputId, error: null };
}

function unsent(desk: Desk, key: string, failure: Failure) {
  desk.dispatch({ type: "unsent", key, failure });
  desk.dispatch({ type: "failed", failure });
  return { runId: null, queued: false, inputId: null, error: failure };
}

async function withdraw(desk: Desk, key: string): Promise<Outcome & { withdrawn: boolean }> {
  const input = desk.state().queue.find((known) => known.key === key || known.id === key);
  if (input?.state === "failed") {
    desk.dispatch({ type: "withdrawn", key: input.key });
    return { withdrawn: true, error: null };
  }
  const { runId } = desk.state();
  if (runId === null || !input?.id) return { withdrawn: false, error: null };
  const variables = { input: { runId, inputId: input.id } };
  const { payload, error } = await ask(
    desk.transport,
    desk.gone,
    WITHDRAW,
    variables,
    "withdrawInput",
  );
  if (error) return { withdrawn: false, error: failed(desk, error) };
  if (payload.run) desk.dispatch({ type: "row", row: payload.run, live: false });
  if (payload.withdrawn) desk.dispatch({ type: "withdrawn", key: input.key });
  return { withdrawn: payload.withdrawn, error: null };
}

// ---------------------------------------------------------------- decisions

function decisionActions(desk: Desk): Pick<RunActions, "approve" | "deny" | "decideAll"> {
  const one = (toolCallId: string, decision: Omit<api.ToolCallDecisionInput, "toolCallId">) =>
    onRun(desk, (own) => {
      const call = desk.state().approvals.find(({ id }) => id === toolCallId);
      return decide(desk, call?.runId ?? own, [{ toolCallId, ...decision }]);
    });
  return {
    approve: (callId, options = {}) => one(callId, { decision: "APPROVE", ...options }),
    deny: (callId, options = {}) => one(callId, { decision: "DENY", ...options }),
    async decideAll(decision, { reason } = {}) {
      const { approvals } = desk.state();
      const decided = (of: string) =>
        approvals
          .filter(({ runId }) => runId === of)
          .map(({ id }) => ({ toolCallId: id, decision, ...(reason && { reason }) }));
      const runIds = [...new Set(approvals.map(({ runId }) => runId))];
      const outcomes = await Promise.all(runIds.map((id) => decide(desk, id, decided(id))));
      return { error: outcomes.find(({ error }) => error)?.error ?? null };
    },
  };
}

async function decide(
  desk: Desk,
  runId: string,
  decisions: api.ToolCallDecisionInput[],
): Promise<Outcome> {
  const ids = decisions.map(({ toolCallId }) => toolCallId);
  desk.dispatch({ type: "deciding", ids, decision: decisions[0]?.decision ?? null });
  const input = { runId, decisions, key: desk.key() };
  const outcome = await mutate(desk, DECIDE, { input }, "decideToolCalls");
  desk.dispatch({ type: "deciding", ids, decision: null });
  return outcome;
}

// ---------------------------------------------------------------- sending

function onRun(desk: Desk, act: (runId: string) => Promise<Outcome>): Promise<Outcome> {
  const { runId } = desk.state();
  if (runId !== null) return act(runId);
  return Promise.resolve({ error: failed(desk, NO_RUN) });
}

async function mutate<Name extends string, Variables>(
  desk: Desk,
  operation: Operation<Record<Name, RunPayload>, Variables>,
  variables: Variables,
  name: Name,
): Promise<Outcome> {
  const { payload, error } = await ask(desk.transport, desk.gone, operation, variables, name);
  if (error) return { error: failed(desk, error) };
  if (payload.run) desk.dispatch({ type: "row", row: payload.run, live: false });
  return { error: null };
}

function failed(desk: Desk, failure: Failure): Failure {
  desk.dispatch({ type: "failed", failure });
  return failure;
}

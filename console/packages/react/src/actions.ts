import type * as api from "./api.js";
import type { Failure } from "./state.js";

/** What came of an action; `error` is also the state's, until it is cleared. */
export interface Outcome {
  error: Failure | null;
}

export interface StartOutcome extends Outcome {
  runId: string | null;
}

export interface SteerOutcome extends Outcome {
  /** Whether it waits in the run's queue; false where it began a turn. */
  queued: boolean;
  inputId: string | null;
}

export type StartOptions = Pick<
  api.StartRunInput,
  "title" | "attachments" | "metadata" | "budget" | "overrides"
>;

export interface SteerOptions {
  /** `INTERRUPT` stops the answer under way; by default the input waits for the next turn boundary. */
  mode?: api.SteerMode;
  attachments?: api.AttachmentInput[];
}

/**
 * What can be done with a run. None of them rejects: what went wrong is in the outcome and in the state. What begins or
 * says something goes under a key of its own, which stays the same however often it has to be sent.
 */
export interface RunActions {
  /** Begins a run of the store's agent, or the next turn of the store's run. */
  start(input: string, options?: StartOptions): Promise<StartOutcome>;
  /** Says something to the run, whatever it does; where there is none yet, it begins one. */
  steer(text: string, options?: SteerOptions): Promise<SteerOutcome>;
  /** Sends an input again that failed, under its own key. */
  resend(key: string): Promise<SteerOutcome>;
  /** Takes an input back, by its `key` or its id; `withdrawn` is false where the model has read it, or it interrupts. */
  withdraw(key: string): Promise<Outcome & { withdrawn: boolean }>;
  /** Stops the run; the status is `cancelling` until it has stopped. */
  cancel(reason?: string): Promise<Outcome>;
  /** Lets a call that waits happen, with other arguments where `input` is given. */
  approve(callId: string, options?: { input?: api.Json; reason?: string }): Promise<Outcome>;
  deny(callId: string, options?: { reason?: string }): Promise<Outcome>;
  /** Decides all that waits, of the runs below too. */
  decideAll(decision: api.Decision, options?: { reason?: string }): Promise<Outcome>;
  /** Answers a call of a client's tool. */
  complete(callId: string, result: api.Json, options?: { isError?: boolean }): Promise<Outcome>;
  /** Goes on with a run that failed or was cancelled, from its last completed step. */
  retry(options?: { budget?: api.BudgetInput }): Promise<Outcome>;
  /**
   * Begins another run with a copy of this one up to message `seq`, and with `input` said in it. This one stays as it is
   * and stays shown, and what went wrong is in the outcome alone. Where no answer came, the same fork, asked for again,
   * goes under the same key.
   */
  fork(seq: number, input?: string): Promise<StartOutcome>;
  clearError(): void;
  /** Leaves the server alone, whoever watches, until `connect`. The run goes on. */
  disconnect(): void;
  connect(): void;
}

/** The part without React: everything that the hooks do, for any other library or for none. */

export type {
  Outcome,
  RunActions,
  StartOptions,
  StartOutcome,
  SteerOptions,
  SteerOutcome,
} from "./actions.js";
export {
  type ApprovalsStore,
  type ApprovalsView,
  createApprovalsStore,
} from "./approvals-store.js";
export { type CancelManyOptions, type CancelManyOutcome, cancelMany } from "./cancel-many.js";
export {
  type ChatOptions,
  type ChatStore,
  type ChatView,
  createChatStore,
  type OutgoingMessage,
} from "./chat-store.js";
export { createTransport, type TransportOptions } from "./create-transport.js";
export {
  createEventLog,
  type EventLog,
  type EventLogOptions,
  type EventLogView,
} from "./event-log.js";
export type { RunEvent, Snapshot } from "./events.js";
export { changesSince } from "./frozen.js";
export {
  createModelCallsStore,
  type ModelCallsOptions,
  type ModelCallsStore,
  type ModelCallsView,
} from "./model-calls-store.js";
export * from "./names.js";
export type { Operation } from "./operation.js";
export { reduce } from "./reduce.js";
export { createRunStore, type RunStore, type RunStoreOptions } from "./run-store.js";
export { createRunsStore, type RunsOptions, type RunsStore, type RunsView } from "./runs-store.js";
export * from "./state.js";
export { type Sink, type Transport, TransportError } from "./transport.js";

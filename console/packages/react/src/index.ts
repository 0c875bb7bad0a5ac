/** React hooks for agents that run on Steersman. */

export { SteersmanProvider, useTransport } from "./provider.js";
export * from "./store.js";
export { type UseApprovals, useApprovals } from "./use-approvals.js";
export { type UseChat, type UseChatOptions, useChat } from "./use-chat.js";
export { type UseModelCallsOptions, useModelCalls } from "./use-model-calls.js";
export { type UseRun, type UseRunOptions, useRun } from "./use-run.js";
export { type UseRunEventsOptions, useRunEvents } from "./use-run-events.js";
export { type UseRuns, type UseRunsOptions, useRuns } from "./use-runs.js";

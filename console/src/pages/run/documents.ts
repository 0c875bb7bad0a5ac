import { document } from "../../data/document";
import type * as api from "./api";

export const MODEL_CALLS = document<api.ModelCallsQuery, api.ModelCallsQueryVariables>(`
  query ModelCalls($id: ID!) {
    run(id: $id) {
      id
      modelCalls(last: 100) {
        nodes {
          id step attempt model startedAt finishedAt stopReason requestId
          usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens cost }
        }
        pageInfo { hasPreviousPage }
      }
    }
  }`);

export const FORK = document<api.ForkMutation, api.ForkMutationVariables>(`
  mutation Fork($input: ForkRunInput!) {
    forkRun(input: $input) { run { id } errors { code message } }
  }`);

/** Every field of every event, for those who want to see them raw. */
export const RUN_EVENTS = document<api.RunEventsSubscription, api.RunEventsSubscriptionVariables>(`
  subscription RunEvents($runId: ID!, $streamId: ID, $after: Int) {
    runStream(runId: $runId, streamId: $streamId, after: $after) {
      __typename streamId seq step attempt at
      ... on TextDelta { block offset text }
      ... on ReasoningDelta { block offset text }
      ... on ToolCallStarted { toolCallId name input }
      ... on ToolCallProgress { toolCallId message fraction }
      ... on ToolCallFinished { toolCallId name input result isError }
      ... on InputQueued { inputId queued }
      ... on InputApplied { inputIds messageSeq }
      ... on StepFinished { messageSeq stopReason }
      ... on StepRestarted { reason }
      ... on CallsWaiting { calls { id name runId } }
      ... on ModelFellBack { from to reason }
      ... on ContextCompacted { tokensBefore tokensAfter }
      ... on SubagentStarted { toolCallId runId agent }
      ... on SubagentFinished { toolCallId runId status }
      ... on RunResult { status finish model steps cancelled error { code message } }
    }
  }`);

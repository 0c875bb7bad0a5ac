/**
 * What the library asks of the API. The types come from api.ts, which `npm run types` makes of these texts and the
 * printed schema.
 */

import type * as api from "./api.js";
import { operation } from "./operation.js";

const USAGE = `
  fragment Usage on Usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens cost }`;

const CALL = `
  fragment Call on ToolCall {
    id runId agent step name input state result isError startedAt finishedAt approvers expiresAt decidedBy decidedAt reason
    childRun { id agent status }
  }`;

const WAITING = `
  fragment Waiting on ToolCall { ...Call inputSchema }
  ${CALL}`;

const ROW = `
  fragment Row on AgentRun {
    id agent userId status finish title streamId cancelRequested steps output metadata createdAt startedAt updatedAt
    error { code message }
    pendingInput { id text mode createdAt }
    pendingCalls { ...Waiting }
    usage { ...Usage }
    budget { cost tokens spentCost spentTokens }
    parent { id }
    forkedFrom { runId seq }
  }
  ${WAITING}
  ${USAGE}`;

const LISTED = `
  fragment Listed on AgentRun {
    id agent userId status finish title streamId cancelRequested steps metadata createdAt startedAt updatedAt
    error { code message }
    usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens cost }
    parent { id }
  }`;

const MESSAGE = `
  fragment Message on AgentMessage {
    id runId seq role text model stopReason createdAt
    blocks {
      __typename
      ... on TextBlock { text }
      ... on ReasoningBlock { text }
      ... on ToolUseBlock { toolCallId name input }
      ... on ToolResultBlock { toolCallId content isError }
      ... on ImageBlock { mediaType url }
      ... on DocumentBlock { mediaType title url }
      ... on OtherBlock { type data }
    }
    usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens cost }
  }`;

const EVENT = `
  fragment Event on StreamEvent {
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
    ... on CallsWaiting { calls { ...Call } }
    ... on ModelFellBack { from to reason }
    ... on ContextCompacted { tokensBefore tokensAfter }
    ... on SubagentStarted { toolCallId runId agent }
    ... on SubagentFinished { toolCallId runId status }
    ... on RunResult { runId status finish text output model steps cancelled error { code message } }
  }
  ${CALL}`;

const MODEL_CALL = `
  fragment ModelCall on ModelCall {
    id runId step attempt model startedAt firstTokenAt finishedAt stopReason requestId
    usage { ...Usage }
  }
  ${USAGE}`;

const REFUSED = "errors { code message field }";

// ---------------------------------------------------------------- a run

export const RUN = operation<api.RunQuery, api.RunQueryVariables>(`
  query Run($id: ID!) {
    run(id: $id) {
      ...Row
      toolCalls(last: 100) { nodes { ...Call } pageInfo { hasPreviousPage startCursor } }
      children(first: 100) { nodes { id agent status } pageInfo { hasNextPage endCursor } }
    }
  }
  ${ROW}`);

/** How far a run is: the same before and after reading its transcript where nothing came in between. */
export const MARK = operation<api.MarkQuery, api.MarkQueryVariables>(`
  query Mark($id: ID!) { run(id: $id) { steps } }`);

export const TRANSCRIPT = operation<api.TranscriptQuery, api.TranscriptQueryVariables>(`
  query Transcript($id: ID!, $after: String) {
    run(id: $id) {
      messages(first: 100, after: $after) { nodes { ...Message } pageInfo { hasNextPage endCursor } }
    }
  }
  ${MESSAGE}`);

export const EARLIER_CALLS = operation<api.EarlierCallsQuery, api.EarlierCallsQueryVariables>(`
  query EarlierCalls($id: ID!, $before: String) {
    run(id: $id) {
      toolCalls(last: 100, before: $before) { nodes { ...Call } pageInfo { hasPreviousPage startCursor } }
    }
  }
  ${CALL}`);

export const MODEL_CALLS = operation<api.ModelCallsQuery, api.ModelCallsQueryVariables>(`
  query ModelCalls($id: ID!, $before: String) {
    run(id: $id) {
      modelCalls(last: 100, before: $before) { nodes { ...ModelCall } pageInfo { hasPreviousPage startCursor } }
    }
  }
  ${MODEL_CALL}`);

export const FURTHER_CHILDREN = operation<
  api.FurtherChildrenQuery,
  api.FurtherChildrenQueryVariables
>(`
  query FurtherChildren($id: ID!, $after: String) {
    run(id: $id) {
      children(first: 100, after: $after) { nodes { id agent status } pageInfo { hasNextPage endCursor } }
    }
  }`);

export const ROWS = operation<api.RowsSubscription, api.RowsSubscriptionVariables>(`
  subscription Rows($id: ID!) { run(id: $id) { ...Row } }
  ${ROW}`);

export const MESSAGES = operation<api.MessagesSubscription, api.MessagesSubscriptionVariables>(`
  subscription Messages($runId: ID!, $afterSeq: Int) {
    messages(runId: $runId, afterSeq: $afterSeq) { ...Message }
  }
  ${MESSAGE}`);

export const EVENTS = operation<api.EventsSubscription, api.EventsSubscriptionVariables>(`
  subscription Events($runId: ID!, $streamId: ID, $after: Int) {
    runStream(runId: $runId, streamId: $streamId, after: $after) { ...Event }
  }
  ${EVENT}`);

export const START = operation<api.StartMutation, api.StartMutationVariables>(`
  mutation Start($input: StartRunInput!) {
    startRun(input: $input) { run { ...Row } queued inputId ${REFUSED} }
  }
  ${ROW}`);

export const STEER = operation<api.SteerMutation, api.SteerMutationVariables>(`
  mutation Steer($input: SteerRunInput!) {
    steerRun(input: $input) { run { ...Row } queued inputId ${REFUSED} }
  }
  ${ROW}`);

export const WITHDRAW = operation<api.WithdrawMutation, api.WithdrawMutationVariables>(`
  mutation Withdraw($input: WithdrawInputInput!) {
    withdrawInput(input: $input) { run { ...Row } withdrawn ${REFUSED} }
  }
  ${ROW}`);

export const CANCEL = operation<api.CancelMutation, api.CancelMutationVariables>(`
  mutation Cancel($input: CancelRunInput!) { cancelRun(input: $input) { run { ...Row } ${REFUSED} } }
  ${ROW}`);

export const DECIDE = operation<api.DecideMutation, api.DecideMutationVariables>(`
  mutation Decide($input: DecideToolCallsInput!) { decideToolCalls(input: $input) { run { ...Row } ${REFUSED} } }
  ${ROW}`);

export const COMPLETE = operation<api.CompleteMutation, api.CompleteMutationVariables>(`
  mutation Complete($input: CompleteToolCallInput!) { completeToolCall(input: $input) { run { ...Row } ${REFUSED} } }
  ${ROW}`);

export const RETRY = operation<api.RetryMutation, api.RetryMutationVariables>(`
  mutation Retry($input: RetryRunInput!) { retryRun(input: $input) { run { ...Row } ${REFUSED} } }
  ${ROW}`);

export const FORK = operation<api.ForkMutation, api.ForkMutationVariables>(`
  mutation Fork($input: ForkRunInput!) { forkRun(input: $input) { run { id } ${REFUSED} } }`);

// ---------------------------------------------------------------- many runs, and what waits for the viewer

export const RUNS = operation<api.RunsQuery, api.RunsQueryVariables>(`
  query Runs($filter: RunFilter, $first: Int, $after: String) {
    runs(filter: $filter, first: $first, after: $after) { nodes { ...Listed } pageInfo { hasNextPage endCursor } }
  }
  ${LISTED}`);

export const RUN_CHANGES = operation<
  api.RunChangesSubscription,
  api.RunChangesSubscriptionVariables
>(`
  subscription RunChanges($filter: RunFilter) { runs(filter: $filter) { kind runId run { ...Listed } } }
  ${LISTED}`);

export const APPROVALS = operation<api.ApprovalsQuery, api.ApprovalsQueryVariables>(`
  query Approvals($after: String) {
    approvals(first: 100, after: $after) { nodes { ...Waiting } pageInfo { hasNextPage endCursor } }
  }
  ${WAITING}`);

export const APPROVAL_CHANGES = operation<
  api.ApprovalChangesSubscription,
  api.ApprovalChangesSubscriptionVariables
>(`
  subscription ApprovalChanges { approvals { ...Waiting } }
  ${WAITING}`);

/** A decision, for those who see of the run only what they need for it. */
export const DECIDE_ALONE = operation<api.DecideAloneMutation, api.DecideAloneMutationVariables>(`
  mutation DecideAlone($input: DecideToolCallsInput!) { decideToolCalls(input: $input) { ${REFUSED} } }`);

// ---------------------------------------------------------------- chats

export const CHAT_MESSAGES = operation<
  api.ChatMessagesSubscription,
  api.ChatMessagesSubscriptionVariables
>(`
  subscription ChatMessages($threadId: ID!, $afterSeq: Int) {
    chatMessages(threadId: $threadId, afterSeq: $afterSeq) { ...ChatMessage }
  }
  fragment ChatMessage on ChatMessage {
    id threadId seq senderUserId senderAgent { id name handle picture } text reasoning runId status createdAt
  }`);

export const POST = operation<api.PostMutation, api.PostMutationVariables>(`
  mutation Post($input: PostMessageInput!) { postMessage(input: $input) { message { id seq } ${REFUSED} } }`);

export const STOP = operation<api.StopMutation, api.StopMutationVariables>(`
  mutation Stop($input: CancelRunInput!) { cancelRun(input: $input) { ${REFUSED} } }`);

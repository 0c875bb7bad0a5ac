// Made by `npm run types` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;

export type FinishReason = "STOP" | "LENGTH" | "CONTENT_FILTER" | "MAX_STEPS" | "STUCK" | "BUDGET" | "BALANCE" | "LIMIT" | "ERROR" | "APPROVAL" | "CLIENT_TOOL" | "ABORTED";

export type ForkMutation = {
  forkRun: {
    run: {
      id: string;
    } | null;
    errors: Array<{
      code: string;
      message: string;
    }>;
  };
};

export type ForkMutationVariables = {
  input: ForkRunInput;
};

export type ForkRunInput = {
  runId: string;
  seq: number;
  input?: string | null;
  key?: string | null;
};

export type ModelCallsQuery = {
  run: {
    id: string;
    modelCalls: {
      nodes: Array<{
        id: string;
        step: number;
        attempt: number;
        model: string;
        startedAt: string;
        finishedAt: string | null;
        stopReason: string | null;
        requestId: string | null;
        usage: {
          inputTokens: number;
          outputTokens: number;
          cacheReadTokens: number;
          cacheWriteTokens: number;
          cost: string | null;
        };
      }>;
      pageInfo: {
        hasPreviousPage: boolean;
      };
    };
  } | null;
};

export type ModelCallsQueryVariables = {
  id: string;
};

export type RunEventsSubscription = {
  runStream: 
    | {
      __typename: "CallsWaiting";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      calls: Array<{
        id: string;
        name: string;
        runId: string;
      }>;
    }
    | {
      __typename: "ContextCompacted";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      tokensBefore: number;
      tokensAfter: number;
    }
    | {
      __typename: "InputApplied";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      inputIds: Array<string>;
      messageSeq: number;
    }
    | {
      __typename: "InputQueued";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      inputId: string;
      queued: number;
    }
    | {
      __typename: "ModelFellBack";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      from: string;
      to: string;
      reason: string;
    }
    | {
      __typename: "ReasoningDelta";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      block: number;
      offset: number;
      text: string;
    }
    | {
      __typename: "RunResult";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      status: RunStatus;
      finish: FinishReason;
      model: string | null;
      steps: number;
      cancelled: boolean;
      error: {
        code: string;
        message: string;
      } | null;
    }
    | {
      __typename: "StepFinished";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      messageSeq: number;
      stopReason: string | null;
    }
    | {
      __typename: "StepRestarted";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      reason: string;
    }
    | {
      __typename: "SubagentFinished";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      toolCallId: string;
      runId: string;
      status: RunStatus;
    }
    | {
      __typename: "SubagentStarted";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      toolCallId: string;
      runId: string;
      agent: string;
    }
    | {
      __typename: "TextDelta";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      block: number;
      offset: number;
      text: string;
    }
    | {
      __typename: "ToolCallFinished";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      toolCallId: string;
      name: string;
      input: Json;
      result: Json | null;
      isError: boolean;
    }
    | {
      __typename: "ToolCallProgress";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      toolCallId: string;
      message: string;
      fraction: number | null;
    }
    | {
      __typename: "ToolCallStarted";
      streamId: string;
      seq: number;
      step: number;
      attempt: number;
      at: string;
      toolCallId: string;
      name: string;
      input: Json;
    };
};

export type RunEventsSubscriptionVariables = {
  runId: string;
  streamId?: string | null;
  after?: number | null;
};

export type RunStatus = "IDLE" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";

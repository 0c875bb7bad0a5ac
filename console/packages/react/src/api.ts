// Made by `npm run types` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;

export type ApprovalChangesSubscription = {
  approvals: Waiting;
};

export type ApprovalChangesSubscriptionVariables = Record<string, never>;

export type ApprovalsQuery = {
  approvals: {
    nodes: Array<Waiting>;
    pageInfo: {
      hasNextPage: boolean;
      endCursor: string | null;
    };
  };
};

export type ApprovalsQueryVariables = {
  after?: string | null;
};

export type AttachmentInput = {
  name?: string | null;
  mediaType: string;
  data: string;
};

export type BudgetInput = {
  cost?: string | null;
  tokens?: number | null;
};

export type Call = {
  id: string;
  runId: string;
  agent: string;
  step: number;
  name: string;
  input: Json;
  state: ToolCallState;
  result: Json | null;
  isError: boolean;
  startedAt: string | null;
  finishedAt: string | null;
  approvers: string | null;
  expiresAt: string | null;
  decidedBy: string | null;
  decidedAt: string | null;
  reason: string | null;
  childRun: {
    id: string;
    agent: string;
    status: RunStatus;
  } | null;
};

export type CancelMutation = {
  cancelRun: {
    run: Row | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type CancelMutationVariables = {
  input: CancelRunInput;
};

export type CancelRunInput = {
  runId: string;
  reason?: string | null;
};

export type ChangeKind = "ADDED" | "CHANGED" | "REMOVED";

export type ChatMessage = {
  id: string;
  threadId: string;
  seq: number;
  senderUserId: string | null;
  senderAgent: {
    id: string;
    name: string;
    handle: string | null;
    picture: string | null;
  } | null;
  text: string;
  reasoning: string;
  runId: string | null;
  status: ChatMessageStatus;
  createdAt: string;
};

export type ChatMessageStatus = "STREAMING" | "DONE" | "FAILED" | "CANCELLED";

export type ChatMessagesSubscription = {
  chatMessages: ChatMessage;
};

export type ChatMessagesSubscriptionVariables = {
  threadId: string;
  afterSeq?: number | null;
};

export type CompleteMutation = {
  completeToolCall: {
    run: Row | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type CompleteMutationVariables = {
  input: CompleteToolCallInput;
};

export type CompleteToolCallInput = {
  runId: string;
  toolCallId: string;
  result?: Json | null;
  isError?: boolean | null;
  key?: string | null;
};

export type DecideAloneMutation = {
  decideToolCalls: {
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type DecideAloneMutationVariables = {
  input: DecideToolCallsInput;
};

export type DecideMutation = {
  decideToolCalls: {
    run: Row | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type DecideMutationVariables = {
  input: DecideToolCallsInput;
};

export type DecideToolCallsInput = {
  runId: string;
  decisions: Array<ToolCallDecisionInput>;
  key?: string | null;
};

export type Decision = "APPROVE" | "DENY";

export type EarlierCallsQuery = {
  run: {
    toolCalls: {
      nodes: Array<Call>;
      pageInfo: {
        hasPreviousPage: boolean;
        startCursor: string | null;
      };
    };
  } | null;
};

export type EarlierCallsQueryVariables = {
  id: string;
  before?: string | null;
};

export type Event = 
  | {
    __typename: "CallsWaiting";
    streamId: string;
    seq: number;
    step: number;
    attempt: number;
    at: string;
    calls: Array<Call>;
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
    runId: string;
    status: RunStatus;
    finish: FinishReason;
    text: string;
    output: Json | null;
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

export type EventsSubscription = {
  runStream: Event;
};

export type EventsSubscriptionVariables = {
  runId: string;
  streamId?: string | null;
  after?: number | null;
};

export type FinishReason = "STOP" | "LENGTH" | "CONTENT_FILTER" | "MAX_STEPS" | "STUCK" | "BUDGET" | "BALANCE" | "LIMIT" | "ERROR" | "APPROVAL" | "CLIENT_TOOL" | "ABORTED";

export type ForkMutation = {
  forkRun: {
    run: {
      id: string;
    } | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
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

export type FurtherChildrenQuery = {
  run: {
    children: {
      nodes: Array<{
        id: string;
        agent: string;
        status: RunStatus;
      }>;
      pageInfo: {
        hasNextPage: boolean;
        endCursor: string | null;
      };
    };
  } | null;
};

export type FurtherChildrenQueryVariables = {
  id: string;
  after?: string | null;
};

export type Listed = {
  id: string;
  agent: string;
  userId: string;
  status: RunStatus;
  finish: FinishReason | null;
  title: string | null;
  streamId: string | null;
  cancelRequested: boolean;
  steps: number;
  metadata: Json;
  createdAt: string;
  startedAt: string | null;
  updatedAt: string;
  error: {
    code: string;
    message: string;
  } | null;
  usage: {
    inputTokens: number;
    outputTokens: number;
    cacheReadTokens: number;
    cacheWriteTokens: number;
    cost: string | null;
  };
  parent: {
    id: string;
  } | null;
};

export type MarkQuery = {
  run: {
    steps: number;
  } | null;
};

export type MarkQueryVariables = {
  id: string;
};

export type Message = {
  id: string;
  runId: string;
  seq: number;
  role: Role;
  text: string;
  model: string | null;
  stopReason: string | null;
  createdAt: string;
  blocks: Array<
    | {
      __typename: "TextBlock";
      text: string;
    }
    | {
      __typename: "ReasoningBlock";
      text: string;
    }
    | {
      __typename: "ToolUseBlock";
      toolCallId: string;
      name: string;
      input: Json;
    }
    | {
      __typename: "ToolResultBlock";
      toolCallId: string;
      content: Json;
      isError: boolean;
    }
    | {
      __typename: "ImageBlock";
      mediaType: string;
      url: string;
    }
    | {
      __typename: "DocumentBlock";
      mediaType: string;
      title: string | null;
      url: string;
    }
    | {
      __typename: "OtherBlock";
      type: string;
      data: Json;
    }>;
  usage: {
    inputTokens: number;
    outputTokens: number;
    cacheReadTokens: number;
    cacheWriteTokens: number;
    cost: string | null;
  } | null;
};

export type MessagesSubscription = {
  messages: Message;
};

export type MessagesSubscriptionVariables = {
  runId: string;
  afterSeq?: number | null;
};

export type ModelCall = {
  id: string;
  runId: string;
  step: number;
  attempt: number;
  model: string;
  startedAt: string;
  firstTokenAt: string | null;
  finishedAt: string | null;
  stopReason: string | null;
  requestId: string | null;
  usage: Usage;
};

export type ModelCallsQuery = {
  run: {
    modelCalls: {
      nodes: Array<ModelCall>;
      pageInfo: {
        hasPreviousPage: boolean;
        startCursor: string | null;
      };
    };
  } | null;
};

export type ModelCallsQueryVariables = {
  id: string;
  before?: string | null;
};

export type PostMessageInput = {
  threadId: string;
  text: string;
  key?: string | null;
};

export type PostMutation = {
  postMessage: {
    message: {
      id: string;
      seq: number;
    } | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type PostMutationVariables = {
  input: PostMessageInput;
};

export type RetryMutation = {
  retryRun: {
    run: Row | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type RetryMutationVariables = {
  input: RetryRunInput;
};

export type RetryRunInput = {
  runId: string;
  budget?: BudgetInput | null;
  key?: string | null;
};

export type Role = "USER" | "ASSISTANT";

export type Row = {
  id: string;
  agent: string;
  userId: string;
  status: RunStatus;
  finish: FinishReason | null;
  title: string | null;
  streamId: string | null;
  cancelRequested: boolean;
  steps: number;
  output: Json | null;
  metadata: Json;
  createdAt: string;
  startedAt: string | null;
  updatedAt: string;
  error: {
    code: string;
    message: string;
  } | null;
  pendingInput: Array<{
    id: string;
    text: string;
    mode: SteerMode;
    createdAt: string;
  }>;
  pendingCalls: Array<Waiting>;
  usage: Usage;
  budget: {
    cost: string | null;
    tokens: number | null;
    spentCost: string;
    spentTokens: number;
  } | null;
  parent: {
    id: string;
  } | null;
  forkedFrom: {
    runId: string;
    seq: number;
  } | null;
};

export type RowsSubscription = {
  run: Row;
};

export type RowsSubscriptionVariables = {
  id: string;
};

export type RunChangesSubscription = {
  runs: {
    kind: ChangeKind;
    runId: string;
    run: Listed | null;
  };
};

export type RunChangesSubscriptionVariables = {
  filter?: RunFilter | null;
};

export type RunFilter = {
  status?: Array<RunStatus> | null;
  agent?: string | null;
  parentId?: string | null;
  search?: string | null;
  metadata?: Json | null;
  finish?: Array<FinishReason> | null;
  createdAfter?: string | null;
  createdBefore?: string | null;
  userId?: string | null;
  everyone?: boolean | null;
};

export type RunOverridesInput = {
  system?: string | null;
  history?: Json | null;
  tools?: Array<RunToolInput> | null;
  remotes?: Array<string> | null;
};

export type RunQuery = {
  run: {
    id: string;
    agent: string;
    userId: string;
    status: RunStatus;
    finish: FinishReason | null;
    title: string | null;
    streamId: string | null;
    cancelRequested: boolean;
    steps: number;
    output: Json | null;
    metadata: Json;
    createdAt: string;
    startedAt: string | null;
    updatedAt: string;
    error: {
      code: string;
      message: string;
    } | null;
    pendingInput: Array<{
      id: string;
      text: string;
      mode: SteerMode;
      createdAt: string;
    }>;
    pendingCalls: Array<Waiting>;
    usage: Usage;
    budget: {
      cost: string | null;
      tokens: number | null;
      spentCost: string;
      spentTokens: number;
    } | null;
    parent: {
      id: string;
    } | null;
    forkedFrom: {
      runId: string;
      seq: number;
    } | null;
    toolCalls: {
      nodes: Array<Call>;
      pageInfo: {
        hasPreviousPage: boolean;
        startCursor: string | null;
      };
    };
    children: {
      nodes: Array<{
        id: string;
        agent: string;
        status: RunStatus;
      }>;
      pageInfo: {
        hasNextPage: boolean;
        endCursor: string | null;
      };
    };
  } | null;
};

export type RunQueryVariables = {
  id: string;
};

export type RunStatus = "IDLE" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";

export type RunToolInput = {
  name: string;
  type: string;
  config?: Json | null;
};

export type RunsQuery = {
  runs: {
    nodes: Array<Listed>;
    pageInfo: {
      hasNextPage: boolean;
      endCursor: string | null;
    };
  };
};

export type RunsQueryVariables = {
  filter?: RunFilter | null;
  first?: number | null;
  after?: string | null;
};

export type StartMutation = {
  startRun: {
    run: Row | null;
    queued: boolean;
    inputId: string | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type StartMutationVariables = {
  input: StartRunInput;
};

export type StartRunInput = {
  agent: string;
  input: string;
  runId?: string | null;
  title?: string | null;
  attachments?: Array<AttachmentInput> | null;
  metadata?: Json | null;
  budget?: BudgetInput | null;
  overrides?: RunOverridesInput | null;
  key?: string | null;
};

export type SteerMode = "QUEUE" | "INTERRUPT";

export type SteerMutation = {
  steerRun: {
    run: Row | null;
    queued: boolean;
    inputId: string | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type SteerMutationVariables = {
  input: SteerRunInput;
};

export type SteerRunInput = {
  runId: string;
  input: string;
  mode?: SteerMode | null;
  attachments?: Array<AttachmentInput> | null;
  key?: string | null;
};

export type StopMutation = {
  cancelRun: {
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type StopMutationVariables = {
  input: CancelRunInput;
};

export type ToolCallDecisionInput = {
  toolCallId: string;
  decision: Decision;
  reason?: string | null;
  input?: Json | null;
};

export type ToolCallState = "READY" | "WAITING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "DENIED" | "TIMED_OUT" | "CANCELLED" | "INTERRUPTED";

export type TranscriptQuery = {
  run: {
    messages: {
      nodes: Array<Message>;
      pageInfo: {
        hasNextPage: boolean;
        endCursor: string | null;
      };
    };
  } | null;
};

export type TranscriptQueryVariables = {
  id: string;
  after?: string | null;
};

export type Usage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  cost: string | null;
};

export type Waiting = {
  id: string;
  runId: string;
  agent: string;
  step: number;
  name: string;
  input: Json;
  state: ToolCallState;
  result: Json | null;
  isError: boolean;
  startedAt: string | null;
  finishedAt: string | null;
  approvers: string | null;
  expiresAt: string | null;
  decidedBy: string | null;
  decidedAt: string | null;
  reason: string | null;
  childRun: {
    id: string;
    agent: string;
    status: RunStatus;
  } | null;
  inputSchema: Json | null;
};

export type WithdrawInputInput = {
  runId: string;
  inputId: string;
};

export type WithdrawMutation = {
  withdrawInput: {
    run: Row | null;
    withdrawn: boolean;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type WithdrawMutationVariables = {
  input: WithdrawInputInput;
};

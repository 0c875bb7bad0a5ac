// Made by `npm run types` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;

export type AgentQuery = {
  agent: Whole | null;
};

export type AgentQueryVariables = {
  id: string;
};

export type BudgetInput = {
  cost?: string | null;
  tokens?: number | null;
};

export type DeleteAgentInput = {
  id: string;
};

export type DeleteMutation = {
  deleteAgent: {
    deletedId: string | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type DeleteMutationVariables = {
  input: DeleteAgentInput;
};

export type DeleteResourceInput = {
  agentId: string;
  key: string;
  kind: string;
};

export type DeleteResourceMutation = {
  deleteResource: {
    agent: {
      id: string;
      resources: {
        nodes: Array<{
          id: string;
          key: string;
          kind: string;
          value: Json;
        }>;
      } | null;
    } | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type DeleteResourceMutationVariables = {
  input: DeleteResourceInput;
};

export type FinishReason = "STOP" | "LENGTH" | "CONTENT_FILTER" | "MAX_STEPS" | "STUCK" | "BUDGET" | "BALANCE" | "LIMIT" | "ERROR" | "APPROVAL" | "CLIENT_TOOL" | "ABORTED";

export type HistoryQuery = {
  agent: {
    id: string;
    runs: {
      nodes: Array<{
        id: string;
        title: string | null;
        status: RunStatus;
        finish: FinishReason | null;
        steps: number;
        createdAt: string;
        output: Json | null;
        usage: {
          inputTokens: number;
          outputTokens: number;
          cacheReadTokens: number;
          cacheWriteTokens: number;
          cost: string | null;
        };
        messages: {
          nodes: Array<{
            id: string;
            text: string;
          }>;
        };
      }>;
      pageInfo: {
        hasNextPage: boolean;
        endCursor: string | null;
      };
    };
  } | null;
};

export type HistoryQueryVariables = {
  id: string;
  after?: string | null;
};

export type PromptAgentInput = {
  agent: string;
  instruction: string;
  input?: Json | null;
  options?: Json | null;
  budget?: BudgetInput | null;
  key?: string | null;
};

export type PromptMutation = {
  promptAgent: {
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

export type PromptMutationVariables = {
  input: PromptAgentInput;
};

export type ResourcesQuery = {
  agent: {
    id: string;
    resources: {
      nodes: Array<{
        id: string;
        key: string;
        kind: string;
        value: Json;
      }>;
    } | null;
  } | null;
  toolTypes: Array<{
    identifier: string;
    description: string;
    inputSchema: Json;
    configSchema: Json;
  }>;
};

export type ResourcesQueryVariables = {
  id: string;
};

export type RunStatus = "IDLE" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";

export type SetResourceInput = {
  agentId: string;
  key: string;
  kind: string;
  value: Json;
};

export type SetResourceMutation = {
  setResource: {
    agent: {
      id: string;
      resources: {
        nodes: Array<{
          id: string;
          key: string;
          kind: string;
          value: Json;
        }>;
      } | null;
    } | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type SetResourceMutationVariables = {
  input: SetResourceInput;
};

export type UpdateAgentInput = {
  id: string;
  name?: string | null;
  handle?: string | null;
  description?: string | null;
  picture?: string | null;
  config?: Json | null;
  sharedWith?: Array<string> | null;
};

export type UpdateMutation = {
  updateAgent: {
    agent: Whole | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type UpdateMutationVariables = {
  input: UpdateAgentInput;
};

export type Whole = {
  id: string;
  name: string;
  handle: string | null;
  description: string | null;
  picture: string | null;
  userId: string;
  temporary: boolean;
  sharedWith: Array<string> | null;
  config: Json | null;
  createdAt: string;
  updatedAt: string;
  kind: {
    identifier: string;
    available: boolean;
    description: string;
    jsonSchema: Json;
    fields: Array<{
      name: string;
      type: string;
      default: Json | null;
      description: string | null;
      required: boolean;
    }>;
  };
  mainChat: {
    id: string;
  };
};

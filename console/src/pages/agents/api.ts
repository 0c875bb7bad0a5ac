// Made by `npm run types` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;

export type AgentsQuery = {
  agents: {
    nodes: Array<{
      id: string;
      name: string;
      handle: string | null;
      description: string | null;
      picture: string | null;
      userId: string;
      temporary: boolean;
      sharedWith: Array<string> | null;
      updatedAt: string;
      kind: {
        identifier: string;
        available: boolean;
      };
    }>;
    pageInfo: {
      hasNextPage: boolean;
      endCursor: string | null;
    };
  };
};

export type AgentsQueryVariables = {
  after?: string | null;
};

export type CreateAgentInput = {
  kind: string;
  name: string;
  handle?: string | null;
  description?: string | null;
  picture?: string | null;
  config?: Json | null;
  temporary?: boolean | null;
  sharedWith?: Array<string> | null;
  mainChatId?: string | null;
  key?: string | null;
};

export type CreateAgentMutation = {
  createAgent: {
    agent: {
      id: string;
    } | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type CreateAgentMutationVariables = {
  input: CreateAgentInput;
};

export type CreateScheduleInput = {
  agent: string;
  input: string;
  cron: string;
  timeZone?: string | null;
  runId?: string | null;
  userId?: string | null;
  key?: string | null;
};

export type CreateScheduleMutation = {
  createSchedule: {
    schedule: {
      id: string;
      nextAt: string | null;
    } | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type CreateScheduleMutationVariables = {
  input: CreateScheduleInput;
};

export type CreateWebhookInput = {
  url: string;
  agent?: string | null;
  key?: string | null;
};

export type CreateWebhookMutation = {
  createWebhook: {
    webhook: {
      id: string;
    } | null;
    secret: string | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type CreateWebhookMutationVariables = {
  input: CreateWebhookInput;
};

export type DeleteRemoteInput = {
  id: string;
};

export type DeleteRemoteMutation = {
  deleteRemote: {
    deletedId: string | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type DeleteRemoteMutationVariables = {
  input: DeleteRemoteInput;
};

export type DeleteScheduleInput = {
  id: string;
};

export type DeleteScheduleMutation = {
  deleteSchedule: {
    deletedId: string | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type DeleteScheduleMutationVariables = {
  input: DeleteScheduleInput;
};

export type DeleteWebhookInput = {
  id: string;
};

export type DeleteWebhookMutation = {
  deleteWebhook: {
    deletedId: string | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type DeleteWebhookMutationVariables = {
  input: DeleteWebhookInput;
};

export type KindsQuery = {
  agentKinds: Array<{
    identifier: string;
    available: boolean;
    description: string;
    examples: Array<string>;
    jsonSchema: Json;
    fields: Array<{
      name: string;
      type: string;
      default: Json | null;
      description: string | null;
      required: boolean;
    }>;
  }>;
};

export type KindsQueryVariables = Record<string, never>;

export type ModelsQuery = {
  models: Array<{
    id: string;
    allowed: boolean;
    contextTokens: number | null;
    maxOutputTokens: number | null;
    inputPrice: string | null;
    outputPrice: string | null;
  }>;
};

export type ModelsQueryVariables = Record<string, never>;

export type RegisterMutation = {
  registerRemote: {
    remote: {
      id: string;
      name: string;
      kind: RemoteKind;
      connected: boolean;
      tools: Array<{
        name: string;
        description: string;
        inputSchema: Json;
      }>;
    } | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type RegisterMutationVariables = {
  input: RegisterRemoteInput;
};

export type RegisterRemoteInput = {
  name: string;
  kind: RemoteKind;
  url?: string | null;
  tools?: Array<RemoteToolInput> | null;
};

export type RemoteKind = "CLIENT" | "MCP";

export type RemoteToolInput = {
  name: string;
  description: string;
  inputSchema: Json;
};

export type RemotesQuery = {
  remotes: {
    nodes: Array<{
      id: string;
      name: string;
      kind: RemoteKind;
      connected: boolean;
      tools: Array<{
        name: string;
        description: string;
        inputSchema: Json;
      }>;
    }>;
  };
};

export type RemotesQueryVariables = Record<string, never>;

export type RunStatus = "IDLE" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";

export type SchedulesQuery = {
  schedules: {
    nodes: Array<{
      id: string;
      userId: string;
      agent: string;
      input: string;
      cron: string;
      timeZone: string;
      enabled: boolean;
      nextAt: string | null;
      lastError: string | null;
      lastRun: {
        id: string;
        status: RunStatus;
        title: string | null;
      } | null;
    }>;
  };
};

export type SchedulesQueryVariables = Record<string, never>;

export type WebhooksQuery = {
  webhooks: {
    nodes: Array<{
      id: string;
      url: string;
      agent: string | null;
      enabled: boolean;
      lastDelivery: {
        runId: string;
        status: number | null;
        attempts: number;
        deliveredAt: string | null;
        error: string | null;
      } | null;
    }>;
  };
};

export type WebhooksQueryVariables = Record<string, never>;

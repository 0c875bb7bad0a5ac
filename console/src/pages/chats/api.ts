// Made by `npm run types` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;

export type ChatRow = {
  id: string;
  title: string | null;
  temporary: boolean;
  createdAt: string;
  members: Array<{
    userId: string | null;
    agent: {
      id: string;
      name: string;
      handle: string | null;
      picture: string | null;
    } | null;
  }>;
};

export type ChatWholeQuery = {
  chat: {
    id: string;
    title: string | null;
    temporary: boolean;
    createdAt: string;
    members: Array<{
      userId: string | null;
      agent: {
        id: string;
        name: string;
        handle: string | null;
        picture: string | null;
      } | null;
    }>;
    threads: {
      nodes: Array<{
        id: string;
        title: string | null;
        createdAt: string;
        resources: {
          nodes: Array<{
            id: string;
            key: string;
            value: Json;
          }>;
        };
      }>;
    };
  } | null;
};

export type ChatWholeQueryVariables = {
  id: string;
};

export type ChatsQuery = {
  chats: {
    nodes: Array<ChatRow>;
    pageInfo: {
      hasNextPage: boolean;
      endCursor: string | null;
    };
  };
};

export type ChatsQueryVariables = {
  after?: string | null;
};

export type CreateChatInput = {
  title?: string | null;
  temporary?: boolean | null;
  agents?: Array<string> | null;
  users?: Array<string> | null;
  key?: string | null;
};

export type CreateChatMutation = {
  createChat: {
    chat: ChatRow | null;
    thread: {
      id: string;
    } | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type CreateChatMutationVariables = {
  input: CreateChatInput;
};

export type CreateThreadInput = {
  chatId: string;
  title?: string | null;
  key?: string | null;
};

export type CreateThreadMutation = {
  createThread: {
    thread: {
      id: string;
      title: string | null;
      createdAt: string;
    } | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type CreateThreadMutationVariables = {
  input: CreateThreadInput;
};

export type LendMutation = {
  setThreadResource: {
    thread: {
      id: string;
      resources: {
        nodes: Array<{
          id: string;
          key: string;
          value: Json;
        }>;
      };
    } | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type LendMutationVariables = {
  input: SetThreadResourceInput;
};

export type MembersToAddQuery = {
  agents: {
    nodes: Array<{
      id: string;
      name: string;
      handle: string | null;
      picture: string | null;
    }>;
  };
  remotes: {
    nodes: Array<{
      id: string;
      name: string;
      kind: RemoteKind;
      connected: boolean;
      tools: Array<{
        name: string;
      }>;
    }>;
  };
};

export type MembersToAddQueryVariables = Record<string, never>;

export type RemoteKind = "CLIENT" | "MCP";

export type SetThreadResourceInput = {
  threadId: string;
  key: string;
  kind: string;
  value?: Json | null;
};

export type UpdateChatMembersInput = {
  chatId: string;
  addAgents?: Array<string> | null;
  removeAgents?: Array<string> | null;
  addUsers?: Array<string> | null;
  removeUsers?: Array<string> | null;
};

export type UpdateMembersMutation = {
  updateChatMembers: {
    chat: ChatRow | null;
    errors: Array<{
      code: string;
      message: string;
      field: Array<string> | null;
    }>;
  };
};

export type UpdateMembersMutationVariables = {
  input: UpdateChatMembersInput;
};

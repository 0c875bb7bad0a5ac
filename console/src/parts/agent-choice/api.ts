// Made by `npm run types` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;

export type ChoicesQuery = {
  agentKinds: Array<{
    identifier: string;
    available: boolean;
    description: string;
    examples: Array<string>;
  }>;
  agents: {
    nodes: Array<{
      id: string;
      name: string;
      handle: string | null;
      description: string | null;
      picture: string | null;
      userId: string;
    }>;
  };
};

export type ChoicesQueryVariables = Record<string, never>;

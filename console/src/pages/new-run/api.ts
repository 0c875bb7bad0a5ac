// Made by `npm run types` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;

export type BeginningQuery = {
  run: {
    id: string;
    agent: string;
    title: string | null;
    metadata: Json;
    messages: {
      nodes: Array<{
        id: string;
        text: string;
      }>;
    };
  } | null;
};

export type BeginningQueryVariables = {
  id: string;
};

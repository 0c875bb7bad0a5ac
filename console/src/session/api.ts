// Made by `npm run types` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;

export type ViewerQuery = {
  viewer: {
    id: string;
    roles: Array<string>;
    isAdmin: boolean;
  } | null;
};

export type ViewerQueryVariables = Record<string, never>;

// Made by `npm run types` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;

export type Figures = {
  turns: number;
  completed: number;
  failed: number;
  cancelled: number;
  calls: number;
  usage: {
    inputTokens: number;
    outputTokens: number;
    cacheReadTokens: number;
    cacheWriteTokens: number;
    cost: string | null;
  };
};

export type StatisticsQuery = {
  statistics: {
    from: string;
    to: string;
    present: {
      queued: number;
      running: number;
      waiting: number;
      oldestQueuedAt: string | null;
    };
    total: Figures;
    parts: Array<{
      from: string;
      to: string;
      figures: Figures;
    }>;
    agents: Array<{
      name: string;
      figures: Figures;
    }>;
    users: Array<{
      name: string;
      figures: Figures;
    }> | null;
    firstToken: {
      count: number;
      p50: number | null;
      p95: number | null;
    };
    step: {
      count: number;
      p50: number | null;
      p95: number | null;
    };
  };
};

export type StatisticsQueryVariables = {
  from?: string | null;
  to?: string | null;
  parts: number;
  everyone: boolean;
};

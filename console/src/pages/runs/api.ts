// Made by `npm run types` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;

export type CancelOneMutation = {
  cancelRun: {
    run: {
      id: string;
      status: RunStatus;
    } | null;
    errors: Array<{
      code: string;
      message: string;
    }>;
  };
};

export type CancelOneMutationVariables = {
  input: CancelRunInput;
};

export type CancelRunInput = {
  runId: string;
  reason?: string | null;
};

export type RunStatus = "IDLE" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";

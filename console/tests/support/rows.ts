import type { Approval, ListedRun } from "@steersman/react";

const AT = "2026-01-01T00:00:00.000Z";

/** A run in a list; `minute` is when it was begun, and when it last changed. */
export function listed(id: string, minute: number, more: Partial<ListedRun> = {}): ListedRun {
  const at = new Date(Date.parse(AT) + minute * 60_000).toISOString();
  return {
    id,
    agent: "assistant",
    userId: "dev",
    status: "COMPLETED",
    finish: "STOP",
    title: `Title of ${id}`,
    streamId: null,
    cancelRequested: false,
    steps: 1,
    metadata: {},
    createdAt: at,
    startedAt: at,
    updatedAt: at,
    error: null,
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, cost: "0" },
    parent: null,
    ...more,
  };
}

/** A call that waits for a person. */
export function waiting(id: string, more: Partial<Approval> = {}): Approval {
  return {
    id,
    inputSchema: null,
    runId: "run_1",
    agent: "desk",
    step: 1,
    name: "refund_order",
    input: { order: "A-1", amount: 150 },
    state: "WAITING",
    result: null,
    isError: false,
    startedAt: null,
    finishedAt: null,
    approvers: "owner",
    expiresAt: null,
    decidedBy: null,
    decidedAt: null,
    reason: null,
    childRun: null,
    deciding: null,
    ...more,
  };
}

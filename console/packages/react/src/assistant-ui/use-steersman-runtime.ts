import {
  type AssistantRuntime,
  type ExternalStoreAdapter,
  useExternalStoreRuntime,
} from "@assistant-ui/react";
import { useMemo, useState } from "react";
import { type UseRun, type UseRunOptions, useRun } from "../use-run.js";
import { createAttachmentAdapter } from "./attachment-adapter.js";
import { type Entry, rememberedEntries } from "./entries.js";
import { queueAdapter, queueItems } from "./queue.js";
import { threadMessageOf } from "./thread-message.js";

export interface UseSteersmanRuntimeOptions extends UseRunOptions {
  /** How files are taken; by default images and PDFs, as a run takes them. Null: not at all. */
  attachments?: NonNullable<ExternalStoreAdapter["adapters"]>["attachments"] | null;
}

/** A run as a runtime of assistant-ui, for its `AssistantRuntimeProvider`. The options are those of `useRun`. */
export function useSteersmanRuntime(options: UseSteersmanRuntimeOptions = {}): AssistantRuntime {
  return useRunRuntime(useRun(options), options);
}

/** The same of a run that the page has by `useRun` already, and shows more of than assistant-ui does. */
export function useRunRuntime(
  run: UseRun,
  { attachments }: Pick<UseSteersmanRuntimeOptions, "attachments"> = {},
): AssistantRuntime {
  const [entriesNow] = useState(rememberedEntries);
  const messages = entriesNow(run);
  const { runId, isActive, isHydrating, status, queue } = run;
  const { steer, resend, withdraw, cancel, approve, deny, complete } = run;
  const isRunning = isActive && status !== "waiting";
  const waiting = useMemo(() => {
    const items = queueItems({ queue, runId, isActive });
    return queueAdapter({ steer, resend, withdraw }, queue, items);
  }, [queue, runId, isActive, steer, resend, withdraw]);
  const adapters = useMemo(
    () => ({ attachments: attachments === undefined ? createAttachmentAdapter() : attachments }),
    [attachments],
  );
  const store = useMemo(
    (): ExternalStoreAdapter<Entry> => ({
      messages,
      convertMessage: threadMessageOf,
      isRunning,
      isLoading: isHydrating,
      queue: waiting,
      adapters: adapters.attachments === null ? {} : { attachments: adapters.attachments },
      onNew: async (message) => waiting.enqueue(message),
      onCancel: async () => void (await cancel()),
      onAddToolResult: async ({ toolCallId, result, isError }) =>
        void (await complete(toolCallId, result, { isError })),
      onRespondToToolApproval: async ({ approvalId, approved, reason }) => {
        const said = reason === undefined ? {} : { reason };
        const { error } = await (approved ? approve(approvalId, said) : deny(approvalId, said));
        if (error) throw new Error(error.message);
      },
    }),
    [messages, isRunning, isHydrating, waiting, adapters, cancel, complete, approve, deny],
  );
  return useExternalStoreRuntime(store);
}

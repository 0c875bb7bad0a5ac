import { useMemo, useSyncExternalStore } from "react";
import { type ChatStore, type ChatView, createChatStore } from "./chat-store.js";
import { useTransport } from "./provider.js";
import { sharedStore } from "./shared.js";

export interface UseChatOptions {
  threadId: string;
  /** What changes is shown this often at most, in milliseconds; 80 by default. */
  throttleMs?: number;
}

export interface UseChat
  extends ChatView,
    Pick<ChatStore, "send" | "resend" | "discard" | "stop" | "clearError"> {}

/** A thread of a chat, live: people's messages, and agents' as they write them. */
export function useChat({ threadId, throttleMs = 80 }: UseChatOptions): UseChat {
  const transport = useTransport();
  const store = useMemo(() => {
    const name = `chat ${JSON.stringify([threadId, throttleMs])}`;
    return sharedStore(transport, name, () => createChatStore({ transport, threadId, throttleMs }));
  }, [transport, threadId, throttleMs]);
  const view = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  const { send, resend, discard, stop, clearError } = store;
  return { ...view, send, resend, discard, stop, clearError };
}

import { useMemo, useSyncExternalStore } from "react";
import {
  type ApprovalsStore,
  type ApprovalsView,
  createApprovalsStore,
} from "./approvals-store.js";
import { useTransport } from "./provider.js";
import { sharedStore } from "./shared.js";

export interface UseApprovals
  extends ApprovalsView,
    Pick<ApprovalsStore, "approve" | "deny" | "clearError"> {}

/** Everything that waits for the viewer's decision, live. */
export function useApprovals(): UseApprovals {
  const transport = useTransport();
  const store = useMemo(
    () => sharedStore(transport, "approvals", () => createApprovalsStore({ transport })),
    [transport],
  );
  const view = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  const { approve, deny, clearError } = store;
  return { ...view, approve, deny, clearError };
}

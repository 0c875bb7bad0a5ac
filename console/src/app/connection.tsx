import { useTransport } from "@steersman/react";
import { CloudOff, RefreshCw } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { Badge } from "../ui";

// A connection that is back within this time was never worth a word.
const QUIET_MS = 1_000;

/** A quiet sign while the server can't be reached; nothing else on the page changes. */
export function ConnectionSign() {
  const { connection } = useTransport();
  const { state } = useSyncExternalStore(connection.subscribe, connection.getSnapshot);
  const lost = state === "reconnecting" || state === "offline";
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (!lost) return setShown(false);
    const timer = setTimeout(() => setShown(true), QUIET_MS);
    return () => clearTimeout(timer);
  }, [lost]);
  return (
    <span role="status">
      {lost && shown && (
        <Badge tone="amber">
          {state === "offline" ? <CloudOff size={12} /> : <RefreshCw size={12} />}
          {state === "offline" ? "Offline" : "Reconnecting…"}
        </Badge>
      )}
    </span>
  );
}

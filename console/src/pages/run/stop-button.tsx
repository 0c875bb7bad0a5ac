import type { UseRun } from "@steersman/react";
import { Square } from "lucide-react";
import { Button } from "../../ui";

/** Stops the run, and says "Stopping" until it has stopped. */
export function StopButton({ run }: { run: UseRun }) {
  if (!run.isActive) return null;
  const stopping = run.status === "cancelling";
  return (
    <Button look="danger" icon={<Square />} busy={stopping} onClick={() => void run.cancel()}>
      {stopping ? "Stopping…" : "Stop"}
    </Button>
  );
}

import type { UseRun } from "@steersman/react";
import { GitFork } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { Button, Dialog, ErrorNote, type Problem, TextArea } from "../../ui";

interface ForkDialogProps {
  run: UseRun;
  /** The last message to copy; null where nothing is asked. */
  seq: number | null;
  onClose: () => void;
}

/** Begins a new run with a copy of this one up to a message, and goes there. */
export function ForkDialog({ run, seq, onClose }: ForkDialogProps) {
  const [, navigate] = useLocation();
  const [input, setInput] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);

  const act = async () => {
    if (seq === null) return;
    setBusy(true);
    setProblem(null);
    const { runId, error } = await run.fork(seq, input.trim() || undefined);
    setBusy(false);
    if (error) return setProblem(error);
    onClose();
    if (runId) navigate(`/runs/${runId}`);
  };

  return (
    <Dialog
      open={seq !== null}
      onOpenChange={(open) => !open && onClose()}
      title={`Fork from message ${seq ?? ""}`}
      description="A new run begins with a copy of this one up to there. Tools are not run again, and this run stays as it is."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" icon={<GitFork />} busy={busy} onClick={() => void act()}>
            Fork
          </Button>
        </>
      }
    >
      {problem && <ErrorNote title="The run was not forked" problem={problem} />}
      <TextArea
        label="What to say in the copy (optional)"
        value={input}
        onChange={(event) => setInput(event.currentTarget.value)}
        help="Without it the copy waits until you say something there."
      />
    </Dialog>
  );
}

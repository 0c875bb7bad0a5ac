import { GitFork } from "lucide-react";
import { useRef, useState } from "react";
import { useMutation } from "urql";
import { useLocation } from "wouter";
import { problemOf, refusalOf } from "../../data/problem";
import { Button, Dialog, ErrorNote, type Problem, TextArea } from "../../ui";
import { FORK } from "./documents";

interface ForkDialogProps {
  runId: string;
  /** The last message to copy; null where nothing is asked. */
  seq: number | null;
  onClose: () => void;
}

/** Begins a new run with a copy of this one up to a message, and goes there. */
export function ForkDialog({ runId, seq, onClose }: ForkDialogProps) {
  const [, fork] = useMutation(FORK);
  const [, navigate] = useLocation();
  const [input, setInput] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  // The same for each try, so that one that was lost on its way is not done twice.
  const key = useRef(crypto.randomUUID());

  const act = async () => {
    if (seq === null) return;
    setBusy(true);
    setProblem(null);
    const said = input.trim() ? { input: input.trim() } : {};
    const { data, error } = await fork({ input: { runId, seq, key: key.current, ...said } });
    setBusy(false);
    const refused = error ? problemOf(error) : refusalOf(data?.forkRun);
    if (refused?.code !== "NETWORK") key.current = crypto.randomUUID();
    if (refused) return setProblem(refused);
    onClose();
    if (data?.forkRun.run) navigate(`/runs/${data.forkRun.run.id}`);
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

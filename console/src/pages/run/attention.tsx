import type { Call, UseRun } from "@steersman/react";
import { Check, X } from "lucide-react";
import { useState } from "react";
import { ApprovalCard } from "../../parts/approvals/approval-card";
import { Arguments } from "../../parts/approvals/arguments";
import { JsonArea, parsed } from "../../parts/json/json-area";
import { label } from "../../parts/words/label";
import { Button, Card } from "../../ui";
import css from "./attention.module.css";

/** What the run, or a run below it, waits for: decisions, and answers of a client. */
export function Attention({ run }: { run: UseRun }) {
  if (run.approvals.length === 0 && run.clientCalls.length === 0) return null;
  return (
    <div className={css.attention}>
      {run.approvals.map((approval) => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          linked={approval.runId !== run.runId}
          approve={(options) => run.approve(approval.id, options)}
          deny={(options) => run.deny(approval.id, options)}
        />
      ))}
      {run.approvals.length > 1 && (
        <div className={css.all}>
          <Button icon={<Check />} onClick={() => void run.decideAll("APPROVE")}>
            Approve all {run.approvals.length}
          </Button>
          <Button icon={<X />} onClick={() => void run.decideAll("DENY")}>
            Deny all {run.approvals.length}
          </Button>
        </div>
      )}
      {run.clientCalls.map((call) => (
        <ClientCall key={call.id} run={run} call={call} />
      ))}
    </div>
  );
}

/** A tool that a client runs. Where none does, a person may answer in its place. */
function ClientCall({ run, call }: { run: UseRun; call: Call }) {
  const [text, setText] = useState("");
  const checked = parsed(text);
  const wrong = "error" in checked ? checked.error : undefined;
  const answer = (isError: boolean) => {
    if ("value" in checked) void run.complete(call.id, checked.value, { isError });
  };
  return (
    <Card title={`Waits for a client: ${label(call.name)}`} className={css.client}>
      <Arguments input={call.input} />
      <JsonArea label="Answer in its place (JSON)" rows={2} value={text} onChange={setText} />
      <div className={css.all}>
        <Button look="primary" reason={wrong} onClick={() => answer(false)}>
          Answer
        </Button>
        <Button reason={wrong} onClick={() => answer(true)}>
          Answer as a failure
        </Button>
      </div>
    </Card>
  );
}

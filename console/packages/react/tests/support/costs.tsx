import { useModelCalls } from "@steersman/react";

export function Costs({ runId }: { runId: string }) {
  const { calls } = useModelCalls({ runId });
  return (
    <ol>
      {calls.map(({ id, step, model, usage: { cost } }) => (
        <li key={id}>{`Step ${step}: ${model}, ${cost ?? "no known price"}`}</li>
      ))}
    </ol>
  );
}

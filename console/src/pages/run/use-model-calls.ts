import type { UseRun } from "@steersman/react";
import { useEffect } from "react";
import { useQuery } from "urql";
import type { ModelCallsQuery } from "./api";
import { MODEL_CALLS } from "./documents";

export type ModelCall = NonNullable<ModelCallsQuery["run"]>["modelCalls"]["nodes"][number];

const NONE: ModelCall[] = [];

/** The last hundred calls of the model, read anew whenever a step of the run has ended or its status has changed. */
export function useModelCalls(run: UseRun): ModelCall[] {
  const id = run.runId ?? "";
  const [{ data }, again] = useQuery({ query: MODEL_CALLS, variables: { id }, pause: !id });
  const { steps, status } = run;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what may have changed the list
  useEffect(() => {
    if (id) again({ requestPolicy: "network-only" });
  }, [id, steps, status, again]);
  return data?.run?.modelCalls.nodes ?? NONE;
}

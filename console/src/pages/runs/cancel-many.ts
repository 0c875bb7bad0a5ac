import type { Client } from "@urql/core";
import { problemOf, refusalOf } from "../../data/problem";
import type { Problem } from "../../ui";
import { CANCEL_ONE } from "./documents";

const AT_ONCE = 4;

export interface NotStopped {
  runId: string;
  problem: Problem;
}

/** Stops runs, a few at a time; gives those that could not be stopped. */
export async function cancelMany(client: Client, runIds: string[]): Promise<NotStopped[]> {
  const left = [...runIds];
  const failed: NotStopped[] = [];
  const work = async () => {
    for (let runId = left.shift(); runId !== undefined; runId = left.shift()) {
      const { data, error } = await client.mutation(CANCEL_ONE, { input: { runId } }).toPromise();
      const problem = error ? problemOf(error) : refusalOf(data?.cancelRun);
      if (problem) failed.push({ runId, problem });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return failed;
}

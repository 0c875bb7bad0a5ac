import { useMemo } from "react";
import { useQuery } from "urql";
import { problemOf } from "../../data/problem";
import type { Problem } from "../../ui";
import type { ChoicesQuery } from "./api";
import { CHOICES } from "./documents";
import { lastUsedFirst } from "./last-used";

/** An agent that one can run. */
export interface Choice {
  /** What `startRun` takes: a name, or a stored agent's handle or id. */
  agent: string;
  name: string;
  description: string;
  picture: string | null;
  examples: string[];
  /** Whether somebody has stored it, rather than code. */
  stored: boolean;
}

/** The agents that the viewer can run: first what was last used in this browser, then those that people have stored. */
export function useChoices(): { choices: Choice[]; isLoading: boolean; problem: Problem | null } {
  const [{ data, fetching, error }] = useQuery({
    query: CHOICES,
    requestPolicy: "cache-and-network",
  });
  const choices = useMemo(() => (data ? lastUsedFirst(choicesOf(data)) : []), [data]);
  return { choices, isLoading: fetching && !data, problem: error ? problemOf(error) : null };
}

function choicesOf({ agentKinds, agents }: ChoicesQuery): Choice[] {
  const stored = agents.nodes.map(
    ({ id, name, handle, description, picture }): Choice => ({
      agent: handle ?? id,
      name,
      description: description ?? "",
      picture,
      examples: [],
      stored: true,
    }),
  );
  const coded = agentKinds
    .filter(({ available }) => available)
    .map(
      ({ identifier, description, examples }): Choice => ({
        agent: identifier,
        name: identifier,
        description,
        picture: null,
        examples,
        stored: false,
      }),
    );
  return [...stored, ...coded];
}

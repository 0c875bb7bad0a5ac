import { useState } from "react";
import { Link } from "wouter";
import { cx, Empty, ErrorNote, Skeleton, TextField } from "../../ui";
import css from "./agent-cards.module.css";
import { AgentPicture } from "./agent-picture";
import { type Choice, useChoices } from "./use-choices";

interface AgentCardsProps {
  /** The one that is chosen now. */
  chosen: string | null;
  /** Where a card leads. */
  href: (agent: string) => string;
}

// So many are looked through faster than searched.
const FEW = 8;

/** The agents that one can run, to choose one. */
export function AgentCards({ chosen, href }: AgentCardsProps) {
  const { choices, isLoading, problem } = useChoices();
  const [search, setSearch] = useState("");
  if (problem) return <ErrorNote title="The agents can't be read" problem={problem} />;
  if (isLoading) return <Skeleton rows={4} />;
  if (choices.length === 0)
    return (
      <Empty title="There are no agents">
        An agent is a Python file in the folder of agents, or is created on the page of agents.
      </Empty>
    );
  const found = choices.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(search.trim().toLowerCase()),
  );
  return (
    <div className={css.choice}>
      {choices.length > FEW && (
        <TextField
          label="Search agents"
          hideLabel
          type="search"
          placeholder="Search agents"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      {found.length === 0 && <Empty title="No agent fits">Try another word.</Empty>}
      <ul className={css.cards}>
        {found.map((choice) => (
          <li key={`${choice.stored} ${choice.agent}`}>
            <AgentCard choice={choice} here={choice.agent === chosen} href={href(choice.agent)} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function AgentCard({ choice, here, href }: { choice: Choice; here: boolean; href: string }) {
  return (
    <Link
      href={href}
      className={cx(css.card, here && css.here)}
      aria-current={here ? "true" : undefined}
    >
      <AgentPicture name={choice.name} picture={choice.picture} />
      <span className={css.said}>
        <span className={css.name}>{choice.name}</span>
        <span className={css.about}>{choice.description}</span>
      </span>
    </Link>
  );
}

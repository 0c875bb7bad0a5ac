import { SearchX } from "lucide-react";
import { AgentCards } from "../../parts/agent-choice/agent-cards";
import { Button, Card, Empty } from "../../ui";
import css from "./nothing.module.css";

/** Before the first run: who is there to be asked. */
export function NothingYet() {
  return (
    <div className={css.yet}>
      <p className={css.said}>
        Nothing has run yet. Choose an agent and tell it what to do: you will see it work, can say
        more while it does, and stop it at any time.
      </p>
      <AgentCards chosen={null} href={(agent) => `/new?agent=${encodeURIComponent(agent)}`} />
    </div>
  );
}

/** Where there are runs, but none that the filters let through. */
export function NothingMatches({ onClear }: { onClear: () => void }) {
  return (
    <Card>
      <Empty
        icon={<SearchX />}
        title="Nothing matches"
        actions={<Button onClick={onClear}>Clear the filters</Button>}
      >
        There may be runs, but none that fits all of the filters.
      </Empty>
    </Card>
  );
}

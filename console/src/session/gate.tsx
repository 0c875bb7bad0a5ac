import { SteersmanProvider } from "@steersman/react";
import { type ReactNode, useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { Provider } from "urql";
import { createData, type Data } from "../data/client";
import { problemOf } from "../data/problem";
import { Button, ErrorNote, type Problem, Skeleton } from "../ui";
import type { Config } from "./config";
import { VIEWER } from "./documents";
import css from "./gate.module.css";
import { session } from "./session";
import { SignIn } from "./sign-in";
import { type Viewer, ViewerProvider } from "./viewer";

interface Known {
  config: Config;
  data: Data;
  viewer: Viewer | null;
  /** Why the token was not taken. */
  problem: Problem | null;
}

/** Lets those through who are signed in, and shows all others where to. */
export function Gate({ children }: { children: ReactNode }) {
  const version = useSyncExternalStore(session.subscribe, session.version);
  const [known, setKnown] = useState<Known | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);

  const ask = useCallback(async (current: { gone: boolean }) => {
    setProblem(null);
    try {
      const next = await enter();
      if (current.gone) next.data.dispose();
      else setKnown(next);
    } catch (error) {
      if (!current.gone) setProblem(problemOf(error));
    }
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another version is another user
  useEffect(() => {
    const current = { gone: false };
    void ask(current);
    return () => {
      current.gone = true;
    };
  }, [version, ask]);

  useEffect(() => () => known?.data.dispose(), [known]);
  useRefused(known);

  if (problem !== null)
    return (
      <div className={css.middle}>
        <ErrorNote
          title="The console could not be opened"
          problem={problem}
          actions={
            <Button small onClick={() => void ask({ gone: false })}>
              Try again
            </Button>
          }
        />
      </div>
    );
  if (known === null)
    return (
      <div className={css.middle}>
        <Skeleton />
      </div>
    );
  if (known.viewer === null) return <SignIn config={known.config} problem={known.problem} />;
  return (
    <SteersmanProvider transport={known.data.transport}>
      <Provider value={known.data.client}>
        <ViewerProvider viewer={known.viewer}>{children}</ViewerProvider>
      </Provider>
    </SteersmanProvider>
  );
}

/** Asks anew who is signed in when the server has refused a token that it took before: it has expired. */
function useRefused(known: Known | null): void {
  useEffect(() => {
    if (known === null || known.viewer === null) return;
    return known.data.onRefused(session.refused);
  }, [known]);
}

async function enter(): Promise<Known> {
  const config = await session.start();
  const data = createData();
  const answer = await data.client.query(VIEWER, {}, { requestPolicy: "network-only" }).toPromise();
  const refused = answer.error ? problemOf(answer.error) : null;
  if (refused !== null && refused.code !== "UNAUTHENTICATED") {
    data.dispose();
    throw answer.error;
  }
  return { config, data, viewer: answer.data?.viewer ?? null, problem: refused };
}

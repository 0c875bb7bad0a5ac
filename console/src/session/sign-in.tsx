import { KeyRound, LogIn } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Logo } from "../app/logo";
import { problemOf } from "../data/problem";
import { Button, ErrorNote, Note, type Problem, TextField } from "../ui";
import type { Config } from "./config";
import { session } from "./session";
import css from "./sign-in.module.css";

/** Where one signs in, with a token. `problem` says why the last one was not taken. */
export function SignIn({ config, problem }: { config: Config; problem: Problem | null }) {
  const [token, setToken] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim()) session.keep(token.trim());
  };
  return (
    <main className={css.page}>
      <form className={css.box} onSubmit={submit}>
        <Logo />
        <h1>Sign in</h1>
        {problem && (
          <Note tone="error" title="The token was not taken">
            {problem.message}
          </Note>
        )}
        {config.oidc && <AtProvider authority={config.oidc.authority} />}
        <TextField
          label={config.oidc ? "Or with a token" : "Token"}
          type="password"
          autoComplete="off"
          spellCheck={false}
          required
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          help={
            <>
              A JSON Web Token, as your sign-in service or <code>steersman token --sub you</code>{" "}
              gives it. It is kept in this browser until you sign out.
            </>
          }
        />
        <Button type="submit" look={config.oidc ? "plain" : "primary"} icon={<KeyRound />}>
          {config.oidc ? "Sign in with the token" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}

/** The way to the provider, which asks who one is. */
function AtProvider({ authority }: { authority: string }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const leave = async () => {
    setBusy(true);
    try {
      await session.begin();
    } catch (error) {
      setProblem(problemOf(error));
      setBusy(false);
    }
  };
  return (
    <>
      {problem && <ErrorNote title="The sign-in service can't be reached" problem={problem} />}
      <Button look="primary" icon={<LogIn />} busy={busy} onClick={() => void leave()}>
        Sign in at {new URL(authority).host}
      </Button>
    </>
  );
}

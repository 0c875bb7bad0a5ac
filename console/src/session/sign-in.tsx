import { KeyRound } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Logo } from "../app/logo";
import { Button, Note, type Problem, TextField } from "../ui";
import type { Config } from "./config";
import { session } from "./session";
import css from "./sign-in.module.css";

/** Where one signs in, with a token. `problem` says why the last one was not taken. */
export function SignIn({ problem }: { config: Config; problem: Problem | null }) {
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
        <TextField
          label="Token"
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
        <Button type="submit" look="primary" icon={<KeyRound />}>
          Sign in
        </Button>
      </form>
    </main>
  );
}

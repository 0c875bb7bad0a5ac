import { ArrowLeft } from "lucide-react";
import { useEffect, useState } from "react";
import { session } from "../session/session";
import css from "./bar.module.css";

/** Above GraphiQL: the way back to the console, and as whom operations are sent. */
export function Bar() {
  return (
    <nav className={css.bar} aria-label="Console">
      <a href="/console/" className={css.back}>
        <ArrowLeft size={16} aria-hidden="true" />
        Console
      </a>
      <strong>GraphiQL</strong>
      <Signed />
    </nav>
  );
}

function Signed() {
  const [signed, setSigned] = useState(false);
  useEffect(() => {
    void session
      .start()
      .then(() => session.token())
      .then(
        (token) => setSigned(token !== null),
        () => setSigned(false), // the first operation says what is wrong
      );
  }, []);
  if (!signed) return <span className={css.who} />;
  return (
    <span className={css.who}>
      Operations carry your token of the console, unless the Headers pane names another.
    </span>
  );
}

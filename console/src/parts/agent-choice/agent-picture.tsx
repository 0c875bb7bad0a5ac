import { cx } from "../../ui";
import css from "./agent-picture.module.css";

const TINTS = [css.a, css.b, css.c, css.d, css.e];

/** An agent's picture; without one, the first letter of its name on a colour of its own. */
export function AgentPicture(props: { name: string; picture: string | null; small?: boolean }) {
  const { name, picture, small } = props;
  if (picture !== null)
    return (
      <img
        className={cx(css.picture, small && css.small)}
        src={picture}
        alt=""
        referrerPolicy="no-referrer"
      />
    );
  const sum = [...name].reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return (
    <span
      className={cx(css.picture, css.letter, small && css.small, TINTS[sum % TINTS.length])}
      aria-hidden="true"
    >
      {[...name][0]?.toUpperCase() ?? "?"}
    </span>
  );
}

import css from "./logo.module.css";

/** A ship's wheel, and the name. */
export function Logo() {
  return (
    <span className={css.logo}>
      <svg
        viewBox="0 0 32 32"
        fill="none"
        stroke="currentColor"
        strokeWidth="2.5"
        strokeLinecap="round"
        aria-hidden="true"
      >
        <circle cx="16" cy="16" r="9" />
        <circle cx="16" cy="16" r="2.5" fill="currentColor" />
        <path d="M16 2v11M16 19v11M2 16h11M19 16h11M6.1 6.1l7.8 7.8M18.1 18.1l7.8 7.8M25.9 6.1l-7.8 7.8M13.9 18.1l-7.8 7.8" />
      </svg>
      Steersman
    </span>
  );
}

import { useApprovals } from "@steersman/react";
import {
  Bot,
  CircleCheckBig,
  Gauge,
  List,
  type LucideIcon,
  MessagesSquare,
  MoreHorizontal,
  Plus,
  SquareTerminal,
} from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { Link, useLocation } from "wouter";
import { countInTab, cx, Menu } from "../ui";
import { Account, useAccountItems } from "./account";
import { ConnectionSign } from "./connection";
import { Logo } from "./logo";
import css from "./shell.module.css";
import { useShortcuts } from "./shortcuts";

interface Place {
  path: string;
  label: string;
  icon: LucideIcon;
  key: string;
  /** A page of its own, outside this application. */
  outside?: boolean;
}

const PLACES: Place[] = [
  { path: "/", label: "Runs", icon: List, key: "r" },
  { path: "/approvals", label: "Approvals", icon: CircleCheckBig, key: "a" },
  { path: "/agents", label: "Agents", icon: Bot, key: "g" },
  { path: "/chats", label: "Chats", icon: MessagesSquare, key: "c" },
  { path: "/dashboard", label: "Dashboard", icon: Gauge, key: "d" },
  {
    path: "/console/graphiql",
    label: "GraphiQL",
    icon: SquareTerminal,
    key: "q",
    outside: true,
  },
];

function isHere(location: string, path: string): boolean {
  if (path === "/") return location === "/" || location.startsWith("/runs");
  return location === path || location.startsWith(`${path}/`);
}

/** What stands around every page: where one can go, what waits, and who one is. */
export function Shell({ children }: { children: ReactNode }) {
  const [, navigate] = useLocation();
  useShortcuts("Go to", [
    { keys: "n", label: "New run", run: () => navigate("/new") },
    ...PLACES.map(({ path, label, key, outside }) => ({
      keys: `g ${key}`,
      label,
      run: () => (outside ? location.assign(path) : navigate(path)),
    })),
  ]);
  return (
    <div className={css.shell}>
      <a className={css.skip} href="#main">
        Skip to the page
      </a>
      <header className={css.side}>
        <div className={css.brand}>
          <Link href="/" className={css.home}>
            <Logo />
          </Link>
          <ConnectionSign />
        </div>
        <NewRun />
        <Places className={css.places} places={PLACES} />
        <div className={css.account}>
          <Account />
        </div>
      </header>
      <main id="main" className={css.main} tabIndex={-1}>
        {children}
      </main>
      <PhoneBar />
    </div>
  );
}

function NewRun() {
  return (
    <Link href="/new" className={css.begin}>
      <Plus aria-hidden="true" />
      New run
    </Link>
  );
}

function Places({ places, className }: { places: Place[]; className: string | undefined }) {
  const [location] = useLocation();
  return (
    <nav aria-label="Console" className={className}>
      <ul className={css.list}>
        {places.map((place) => (
          <li key={place.path}>
            <PlaceLink place={place} here={isHere(location, place.path)} />
          </li>
        ))}
      </ul>
    </nav>
  );
}

function PlaceLink({ place, here }: { place: Place; here: boolean }) {
  const { path, label, icon: Icon, outside } = place;
  const content = (
    <>
      <Icon aria-hidden="true" />
      <span>{label}</span>
      {path === "/approvals" && <Waiting />}
    </>
  );
  const props = {
    href: path,
    className: cx(css.place, here && css.here),
    ...(here && { "aria-current": "page" as const }),
  };
  return outside ? <a {...props}>{content}</a> : <Link {...props}>{content}</Link>;
}

/** How many calls wait for the viewer. */
function Waiting() {
  const { approvals } = useApprovals();
  useEffect(() => countInTab(approvals.length), [approvals.length]);
  if (approvals.length === 0) return null;
  return (
    <span className={css.count}>
      {approvals.length}
      <span className="sr-only"> waiting</span>
    </span>
  );
}

/** On a phone: the places at the bottom, where the thumb is. */
function PhoneBar() {
  const [, navigate] = useLocation();
  const account = useAccountItems();
  const rest = PLACES.slice(4).map(({ path, label, icon: Icon, outside }) => ({
    label,
    icon: <Icon />,
    onSelect: () => (outside ? location.assign(path) : navigate(path)),
  }));
  return (
    <div className={css.phone}>
      <Places className={css.bar} places={PLACES.slice(0, 4)} />
      <Menu
        trigger={
          <button type="button" className={css.place}>
            <MoreHorizontal aria-hidden="true" />
            <span>More</span>
          </button>
        }
        items={[...rest, ...account]}
      />
    </div>
  );
}

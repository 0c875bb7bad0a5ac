import { LogOut, Monitor, Moon, Sun, UserRound } from "lucide-react";
import { session } from "../session/session";
import { useViewer } from "../session/viewer";
import { Button, IconButton, Menu, type MenuItem } from "../ui";
import { chooseTheme, type Theme, useTheme } from "../ui/theme";

const THEMES = [
  { theme: "system", label: "Theme: as the system", icon: Monitor },
  { theme: "light", label: "Theme: light", icon: Sun },
  { theme: "dark", label: "Theme: dark", icon: Moon },
] as const;

function next(theme: Theme) {
  const place = THEMES.findIndex((each) => each.theme === theme);
  return THEMES[(place + 1) % THEMES.length] ?? THEMES[0];
}

/** What one can do about oneself: the theme, and signing out. */
export function useAccountItems(): MenuItem[] {
  const theme = useTheme();
  const viewer = useViewer();
  const then = next(theme);
  return [
    { label: then.label, icon: <then.icon />, onSelect: () => chooseTheme(then.theme) },
    {
      label: `Sign out ${viewer.id}`,
      icon: <LogOut />,
      onSelect: () => void session.forget(),
    },
  ];
}

/** Who is signed in, and the theme. */
export function Account() {
  const viewer = useViewer();
  const theme = useTheme();
  const then = next(theme);
  const Icon = THEMES.find((each) => each.theme === theme)?.icon ?? Monitor;
  return (
    <>
      <Menu
        trigger={
          <Button look="quiet" icon={<UserRound />} title={viewer.roles.join(", ")}>
            {viewer.id}
          </Button>
        }
        items={[{ label: "Sign out", icon: <LogOut />, onSelect: () => void session.forget() }]}
      />
      <IconButton label={then.label} icon={<Icon />} onClick={() => chooseTheme(then.theme)} />
    </>
  );
}

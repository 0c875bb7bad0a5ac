import type { UseRun } from "@steersman/react";
import { Copy, Ellipsis, Link2, ListTree, Repeat } from "lucide-react";
import { useLocation } from "wouter";
import { announce, IconButton, Menu } from "../../ui";

/** What else one can do about a run. */
export function RunMenu({ run, onEvents }: { run: UseRun; onEvents: () => void }) {
  const [, navigate] = useLocation();
  const copy = (text: string, said: string) => {
    void navigator.clipboard.writeText(text).then(() => announce(said));
  };
  return (
    <Menu
      trigger={<IconButton label="More" icon={<Ellipsis />} />}
      items={[
        {
          label: "Run again with changes",
          icon: <Repeat />,
          onSelect: () => navigate(`/new?from=${run.runId}`),
        },
        { label: "Events", icon: <ListTree />, onSelect: onEvents },
        {
          label: "Copy link",
          icon: <Link2 />,
          onSelect: () => copy(location.href.split("#")[0] ?? "", "Link copied"),
        },
        {
          label: "Copy id",
          icon: <Copy />,
          onSelect: () => copy(run.runId ?? "", "Id copied"),
        },
      ]}
    />
  );
}

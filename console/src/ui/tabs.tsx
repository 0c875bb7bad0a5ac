import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";
import css from "./tabs.module.css";

interface TabsProps {
  value: string;
  onChange: (value: string) => void;
  label: string;
  tabs: Array<{ value: string; label: ReactNode; content: ReactNode }>;
}

/** Several views of which one is shown. */
export function Tabs({ value, onChange, label, tabs }: TabsProps) {
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(String(next))}>
      <Base.List className={css.list} aria-label={label}>
        {tabs.map((tab) => (
          <Base.Tab key={tab.value} value={tab.value} className={css.tab}>
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} className={css.panel}>
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}

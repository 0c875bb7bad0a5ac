import { Tooltip } from "@base-ui/react/tooltip";
import { Router } from "wouter";
import { Gate } from "../session/gate";
import { Announcer } from "../ui";
import { Pages } from "./pages";
import { Shell } from "./shell";
import { Shortcuts } from "./shortcuts";

/** The console: who is signed in sees the pages, inside the shell. */
export function App() {
  return (
    <Router base="/console">
      <Tooltip.Provider delay={400}>
        <Gate>
          <Shell>
            <Pages />
          </Shell>
          <Shortcuts />
        </Gate>
        <Announcer />
      </Tooltip.Provider>
    </Router>
  );
}

import type { RunEvent } from "./events.js";
import type { RunState } from "./state.js";
import { failureOf } from "./status.js";
import type { Transport } from "./transport.js";

/** What the actions of a run need of its store. */
export interface Desk {
  transport: Transport;
  key: () => string;
  state: () => RunState;
  dispatch: (event: RunEvent) => void;
  /** Whether the store was disposed of, so that nothing is tried again. */
  gone: () => boolean;
}

export const NO_RUN = failureOf({ code: "RUN_NOT_FOUND", message: "There is no run yet." });

import type * as api from "./api.js";
import type { SteerMode } from "./names.js";
import type { Connection, Failure, QueuedAttachment } from "./state.js";

/** A run at one moment: `messages` are all that its `steps` had stored then, and none of a later step. */
export interface Snapshot {
  row: api.Row;
  messages: api.Message[];
  calls: api.Call[];
  children: { id: string; agent: string; status: api.RunStatus }[];
}

/** Everything that can happen to a run's state: what the server tells, and what the page itself does. */
export type RunEvent =
  | { type: "snapshot"; snapshot: Snapshot }
  /** A row; `live` ones come in the order of the run's changes, answers to mutations may come late. */
  | { type: "row"; row: api.Row; live: boolean }
  | { type: "message"; message: api.Message }
  | { type: "stream"; event: api.Event }
  | { type: "calls"; calls: api.Call[] }
  | { type: "connection"; connection: Connection }
  | {
      type: "sending";
      key: string;
      text: string;
      mode: SteerMode;
      attachments?: QueuedAttachment[];
    }
  | { type: "sent"; key: string; inputId: string | null; queued: boolean; row: api.Row | null }
  | { type: "unsent"; key: string; failure: Failure }
  | { type: "withdrawn"; key: string }
  /** A run is being begun; `blank`: with nothing said before, so that there is nothing to read. */
  | { type: "starting"; on: boolean; blank?: boolean }
  | { type: "cancelling"; on: boolean }
  | { type: "deciding"; ids: string[]; decision: api.Decision | null }
  | { type: "failed"; failure: Failure }
  /** The run can't be read or followed. */
  | { type: "unreadable"; failure: Failure }
  | { type: "clearError" };

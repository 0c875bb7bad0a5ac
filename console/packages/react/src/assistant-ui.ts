/** For pages that are built with assistant-ui: its components show a run, and what is done in them is done with the run. */

export { createAttachmentAdapter } from "./assistant-ui/attachment-adapter.js";
export {
  type UseSteersmanRuntimeOptions,
  useRunRuntime,
  useSteersmanRuntime,
} from "./assistant-ui/use-steersman-runtime.js";

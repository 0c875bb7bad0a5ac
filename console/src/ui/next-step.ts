/** What one can do about an error, by its code. docs/errors.md says more about each. */
const NEXT: Record<string, string> = {
  NETWORK: "Look whether the server runs and can be reached. What you wrote is kept here.",
  UNAUTHENTICATED: "Sign in again.",
  FORBIDDEN: "Ask an administrator for the role that this needs.",
  UNAVAILABLE: "The server can't reach what it needs at the moment. Try again shortly.",
  RATE_LIMITED: "Too many requests came at once. Wait a little and try again.",
  RUN_NOT_FOUND: "It may have been removed, or it belongs to somebody else.",
  AGENT_NOT_FOUND: "Choose another agent: this one was removed, renamed, or is not yours.",
  AGENT_INPUT_REQUIRED: "Write what the agent is to do.",
  AGENT_INPUT_QUEUE_FULL: "Wait until the agent has read what is queued, or withdraw some of it.",
  AGENT_MAX_STEPS: "Say “go on” to let it take further steps.",
  RUN_BUSY: "Wait until it rests, or stop it first.",
  MODEL_NOT_ALLOWED: "Choose a model that this deployment allows.",
  INPUT_TOO_LARGE: "Send less at once.",
  ATTACHMENT_REFUSED: "PNG, JPEG, GIF and WebP images and PDFs of at most 100 pages are taken.",
  PROVIDER_ERROR: "Retry goes on from the last completed step.",
  PROVIDER_OVERLOADED: "Wait a minute, then retry: it goes on from the last completed step.",
  PROVIDER_TIMEOUT: "Retry goes on from the last completed step.",
  RUN_INTERRUPTED:
    "The server went down too often during this run. Retry goes on from the last completed step.",
  RUN_TIMEOUT: "Retry goes on from the last completed step.",
  OUTPUT_INVALID: "Retry, or say more exactly what the answer should hold.",
  BUDGET_SPENT: "Retry with a larger budget.",
  BALANCE_SPENT: "An operator has to top the balance up.",
  LIMIT_REACHED: "The limit is counted anew tomorrow, or next month. An operator can raise it.",
  LOOP_STOPPED: "It went round in circles. Say what it should do differently.",
  CALL_ALREADY_DECIDED: "Somebody else was faster; what they decided is shown.",
  NOT_ALLOWED_TO_DECIDE: "Only holders of another role may decide this.",
  HANDLE_TAKEN: "Choose another handle.",
  INVALID_CONFIG: "Mend the field that the message names.",
  KIND_UNAVAILABLE: "Its code is not part of this deployment. An operator has to add it.",
};

/** What one can do about an error of this code; null where nothing is known. */
export function nextStep(code: string): string | null {
  return NEXT[code] ?? null;
}

import type { ExternalThreadQueueAdapter } from "@assistant-ui/react";
import type { QueuedInput } from "../state.js";
import type { UseRun } from "../use-run.js";
import { isSaid, type Shown } from "./entries.js";
import { saidOf } from "./said.js";

type Item = ExternalThreadQueueAdapter["items"][number];
type Append = Parameters<ExternalThreadQueueAdapter["enqueue"]>[0];
type Actions = Pick<UseRun, "steer" | "resend" | "withdraw">;

/** What waits in a run's queue, as assistant-ui shows it. */
export function queueItems(run: Pick<Shown, "queue" | "runId" | "isActive">): Item[] {
  return run.queue.filter((input) => !isSaid(input, run)).map(itemOf);
}

/**
 * The queue of a run, for assistant-ui's composer, which with it can always be sent.
 *
 * What is sent while the run is at work is read at its next step. It interrupts the answer where it is sent with
 * `steer: true`, or is moved into the lane that is read next. An input that could not be sent is sent again by that.
 */
export function queueAdapter(
  { steer, resend, withdraw }: Actions,
  queue: readonly QueuedInput[],
  items: readonly Item[],
): ExternalThreadQueueAdapter {
  const send = (message: Append) => {
    const { text, attachments } = saidOf(message);
    const mode = message.steer === true ? "INTERRUPT" : "QUEUE";
    void steer(text, { mode, ...(attachments.length > 0 && { attachments }) });
  };
  return {
    items,
    steerItems: [],
    enqueue: send,
    steer: send,
    move: (key, { lane, insertAfter, insertBefore }) => {
      const input = queue.find((known) => known.key === key);
      if (input?.state === "failed") void resend(key);
      // The server keeps the order in which inputs came, and the content of files is not kept here.
      const canInterrupt = input?.state === "queued" && input.attachments.length === 0;
      const isPlaced = insertAfter != null || insertBefore != null; // null: at the very front or end
      if (canInterrupt && lane === "steer" && !isPlaced) void interrupt(input);
    },
    edit: (key, message) => {
      const said = saidOf(message);
      void withdraw(key).then(({ withdrawn }) => {
        if (withdrawn) void steer(said.text, { attachments: said.attachments });
      });
    },
    remove: (key) => void withdraw(key),
  };

  async function interrupt({ key, text }: QueuedInput): Promise<void> {
    const { withdrawn } = await withdraw(key);
    if (withdrawn) await steer(text, { mode: "INTERRUPT" });
  }
}

function itemOf({ key, text, attachments }: QueuedInput): Item {
  const files = attachments.map(({ name, mediaType }) => ({
    type: "file" as const,
    data: "",
    mimeType: mediaType,
    ...(name !== null && { filename: name }),
  }));
  return { id: key, prompt: text, parts: [{ type: "text", text }, ...files] };
}

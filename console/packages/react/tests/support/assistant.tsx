import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
} from "@assistant-ui/react";
import { useSteersmanRuntime } from "@steersman/react/assistant-ui";

function ToolCard({ toolName, argsText, result, approval, ...card }: ToolCallMessagePartProps) {
  const asks = approval && approval.approved === undefined;
  return (
    <fieldset>
      <legend>{approval?.prompt ?? toolName}</legend>
      <code>{argsText}</code>
      {asks && (
        <>
          <button type="button" onClick={() => card.respondToApproval({ approved: true })}>
            Approve
          </button>
          <button type="button" onClick={() => card.respondToApproval({ approved: false })}>
            Deny
          </button>
        </>
      )}
      {result !== undefined && <output>{JSON.stringify(result)}</output>}
    </fieldset>
  );
}

const parts = {
  Text: ({ text }: { text: string }) => <p>{text}</p>,
  Reasoning: ({ text }: { text: string }) => <i>{text}</i>,
  tools: { Fallback: ToolCard },
};

export function Assistant({ runId = null }: { runId?: string | null }) {
  const runtime = useSteersmanRuntime({ runId, agent: "researcher" });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages>
          {({ message }) => (
            <MessagePrimitive.Root aria-label={message.role} role="article">
              <MessagePrimitive.Parts components={parts} />
            </MessagePrimitive.Root>
          )}
        </ThreadPrimitive.Messages>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Say" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

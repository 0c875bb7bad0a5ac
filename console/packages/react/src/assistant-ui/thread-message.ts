/** Entries as assistant-ui's messages. */

import type { ThreadMessageLike } from "@assistant-ui/react";
import type { Json, Message } from "../api.js";
import { hasEnded } from "../calls.js";
import type { Approval, PartialBlock, RunToolCall } from "../state.js";
import type { AnswerEntry, Entry, SaidEntry } from "./entries.js";

type Part = Exclude<ThreadMessageLike["content"], string>[number];
type Block = Message["blocks"][number];
type ToolPart = Extract<Part, { type: "tool-call" }>;
type Files = NonNullable<ThreadMessageLike["attachments"]>;

export function threadMessageOf(entry: Entry): ThreadMessageLike {
  return entry.kind === "said" ? said(entry) : answered(entry);
}

// ---------------------------------------------------------------- what was said

function said({ id, message, input }: SaidEntry): ThreadMessageLike {
  if (message === null) {
    const content = [{ type: "text" as const, text: input?.text ?? "" }];
    return { role: "user", id, content, metadata: { isOptimistic: true } };
  }
  return {
    role: "user",
    id,
    createdAt: new Date(message.createdAt),
    content: message.blocks.flatMap(saidPart),
    attachments: message.blocks.flatMap(fileOf),
    metadata: { custom: { seq: message.seq } },
  };
}

function saidPart(block: Block): Part[] {
  if (block.__typename === "TextBlock") return [{ type: "text", text: block.text }];
  if (block.__typename === "OtherBlock")
    return [{ type: "data", name: block.type, data: block.data }];
  return [];
}

/** A file of a message, by its address: loading it needs what the API needs, a token where there is one. */
function fileOf(block: Block, at: number): Files {
  if (block.__typename !== "ImageBlock" && block.__typename !== "DocumentBlock") return [];
  const isImage = block.__typename === "ImageBlock";
  const { mediaType, url } = block;
  const name = (isImage ? null : block.title) ?? url.split("/").at(-1) ?? mediaType;
  const file = {
    type: "file" as const,
    data: url,
    mimeType: mediaType,
    sourceType: "url" as const,
  };
  return [
    {
      id: `${at} ${url}`,
      type: isImage ? "image" : "document",
      name,
      contentType: mediaType,
      status: { type: "complete" },
      content: [isImage ? { type: "image", image: url } : file],
    },
  ];
}

// ---------------------------------------------------------------- what came of it

function answered(entry: AnswerEntry): ThreadMessageLike {
  const { id, messages, partial, standing } = entry;
  const [first] = messages;
  const calls = new Map(entry.calls.map((call) => [call.id, call]));
  const told = messages.flatMap(({ blocks }) =>
    blocks.flatMap((block) => answerPart(block, calls, entry.approvals)),
  );
  return {
    role: "assistant",
    id,
    ...(first && { createdAt: new Date(first.createdAt) }),
    content: [...told, ...(partial?.blocks ?? []).map(writtenPart)],
    status: standing,
    metadata: {
      ...(entry.isOptimistic && { isOptimistic: true }),
      steps: messages.map(({ id: messageId, usage }) => ({ messageId, ...usageOf(usage) })),
      custom: { seqs: messages.map(({ seq }) => seq) },
    },
  };
}

function usageOf(usage: Message["usage"]) {
  if (usage === null) return {};
  const { inputTokens, outputTokens } = usage;
  return { usage: { inputTokens, outputTokens } };
}

function writtenPart({ kind, text }: PartialBlock): Part {
  return { type: kind, text };
}

function answerPart(block: Block, calls: Map<string, RunToolCall>, approvals: Approval[]): Part[] {
  switch (block.__typename) {
    case "TextBlock":
      return [{ type: "text", text: block.text }];
    case "ReasoningBlock":
      return [{ type: "reasoning", text: block.text }];
    case "ToolUseBlock":
      return [toolPart(block, calls.get(block.toolCallId), approvals)];
    case "OtherBlock":
      return [{ type: "data", name: block.type, data: block.data }];
    case "ImageBlock":
    case "DocumentBlock": {
      const { url, mediaType } = block;
      return [{ type: "file", data: url, mimeType: mediaType, sourceType: "url" }];
    }
    case "ToolResultBlock":
      return []; // stands with its call
  }
}

function toolPart(
  { toolCallId, name, input }: Extract<Block, { __typename: "ToolUseBlock" }>,
  call: RunToolCall | undefined,
  approvals: Approval[],
): ToolPart {
  const approval = approvals.find(
    ({ id, runId }) => id === toolCallId || (call && runId === call.childRunId),
  );
  const given = call?.input ?? input; // a person may have approved the call with other arguments
  return {
    type: "tool-call",
    toolCallId,
    toolName: name,
    args: argumentsOf(given),
    argsText: JSON.stringify(given),
    ...(call && hasEnded(call.state) && { result: call.result ?? null, isError: call.isError }),
    ...gateOf(call, approval),
  };
}

/** What a person has to say, is saying or has said of a call. */
function gateOf(call: RunToolCall | undefined, waits: Approval | undefined): Partial<ToolPart> {
  if (waits) {
    const { id, deciding, agent, name, runId } = waits;
    const said = deciding === null ? {} : { approved: deciding === "APPROVE" };
    // One of a run below stands at the call that began that run.
    const prompt = runId === call?.runId ? {} : { prompt: `${agent} wants to call ${name}` };
    return { approval: { id, ...said, ...prompt } };
  }
  if (call?.state !== "DENIED") return {};
  const reason = call.reason === null ? {} : { reason: call.reason };
  return { approval: { id: call.id, approved: false, ...reason } };
}

function argumentsOf(input: Json): NonNullable<ToolPart["args"]> {
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  return (isObject ? input : { input }) as NonNullable<ToolPart["args"]>;
}

/** What somebody wrote in assistant-ui's composer, as a run takes it. */

import type { AppendMessage } from "@assistant-ui/react";
import type { AttachmentInput } from "../api.js";

type Part = AppendMessage["content"][number];

export interface Said {
  text: string;
  attachments: AttachmentInput[];
}

/** Throws where there is something in it that a run can't take, so that the composer keeps it. */
export function saidOf({ content, attachments = [] }: AppendMessage): Said {
  const files = attachments.flatMap(({ name, content: parts }) =>
    parts.map((part) => ({ name, part })),
  );
  const parts = [...content.map((part) => ({ name: undefined, part })), ...files];
  const text = parts.flatMap(({ part }) => (part.type === "text" ? [part.text] : [])).join("\n\n");
  const inputs = parts.flatMap(({ name, part }) =>
    part.type === "text" ? [] : [inputOf(part, name)],
  );
  return { text, attachments: inputs };
}

function inputOf(part: Part, name: string | undefined): AttachmentInput {
  if (part.type === "image") return fromAddress(part.image, part.filename ?? name, null);
  if (part.type === "file") return fromAddress(part.data, part.filename ?? name, part.mimeType);
  throw new Error(`A run takes images and documents, no ${part.type}.`);
}

function fromAddress(
  address: string,
  name: string | undefined,
  type: string | null,
): AttachmentInput {
  const found = /^data:([^;,]+)[^,]*;base64,(.*)$/s.exec(address);
  const mediaType = found?.[1] ?? type;
  const data = found ? found[2] : address;
  // What is no address at all is the content itself.
  if (mediaType === null || data === undefined || /^[a-z]+:/i.test(data))
    throw new Error("A file is sent with its content, not by its address.");
  return { mediaType, data, ...(name && { name }) };
}

import type { AttachmentInput } from "@steersman/react";

/** A file that goes with an input: as the API takes it, and how it is shown. */
export interface Attached {
  key: string;
  name: string;
  input: AttachmentInput;
  /** An address to show it by; images alone have one. */
  preview: string | null;
}

export const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
/** How many go with one input, and how many characters of base64 all of them may have: as the API says. */
export const MOST_FILES = 20;
export const MOST_CHARACTERS = 28_000_000;

/** Reads files as attachments behind those that are there; `refused` says why others are left out, a sentence each. */
export async function attach(
  before: Attached[],
  files: File[],
): Promise<{ attached: Attached[]; refused: string[] }> {
  const attached = [...before];
  const refused: string[] = [];
  for (const file of files) {
    const why = refusal(attached, file);
    if (why) refused.push(why);
    else attached.push(await read(file));
  }
  return { attached, refused };
}

function refusal(attached: Attached[], file: File): string | null {
  const name = file.name || "The file";
  if (!KINDS.includes(file.type))
    return `${name} was left out: PNG, JPEG, GIF and WebP images and PDFs are taken.`;
  if (attached.length >= MOST_FILES)
    return `${name} was left out: ${MOST_FILES} files go with one message.`;
  const before = attached.reduce((sum, { input }) => sum + input.data.length, 0);
  if (before + Math.ceil(file.size / 3) * 4 > MOST_CHARACTERS)
    return `${name} was left out: all files of one message may have 21 MB together.`;
  return null;
}

async function read(file: File): Promise<Attached> {
  const address = await dataAddress(file);
  return {
    key: crypto.randomUUID(),
    name: file.name || "pasted",
    input: {
      name: file.name || "pasted",
      mediaType: file.type,
      data: address.slice(address.indexOf(",") + 1),
    },
    preview: file.type.startsWith("image/") ? address : null,
  };
}

function dataAddress(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

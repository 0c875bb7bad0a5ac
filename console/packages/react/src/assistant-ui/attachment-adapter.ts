import type { AttachmentAdapter } from "@assistant-ui/react";
import { newKey } from "../keys.js";

type Pending = Awaited<ReturnType<AttachmentAdapter["send"]>>;

/** Takes what a run takes: images (PNG, JPEG, GIF, WebP) and PDFs. They are read when the message is sent. */
export function createAttachmentAdapter(): AttachmentAdapter {
  return {
    accept: "image/png,image/jpeg,image/gif,image/webp,application/pdf",
    async add({ file }) {
      return {
        id: newKey(),
        type: file.type.startsWith("image/") ? "image" : "document",
        name: file.name,
        contentType: file.type,
        file,
        status: { type: "requires-action", reason: "composer-send" },
      };
    },
    async send({ id, type, name, file }): Promise<Pending> {
      const address = await dataAddress(file);
      const content =
        type === "image"
          ? { type: "image" as const, image: address, filename: name }
          : { type: "file" as const, data: address, mimeType: file.type, filename: name };
      return {
        id,
        type,
        name,
        contentType: file.type,
        status: { type: "complete" },
        content: [content],
      };
    },
    async remove() {},
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

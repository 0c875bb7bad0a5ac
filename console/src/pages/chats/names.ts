import type { ChatsQuery } from "./api";

export type ChatRow = ChatsQuery["chats"]["nodes"][number];
export type Member = ChatRow["members"][number];

/** What a chat is called: its title, else the names of those in it beside the viewer. */
export function chatName(chat: ChatRow, viewerId: string): string {
  if (chat.title) return chat.title;
  const names = chat.members.flatMap(({ userId, agent }) => {
    if (agent) return [agent.name];
    return userId && userId !== viewerId ? [userId] : [];
  });
  return names.join(", ") || "Just you";
}

import { Page } from "../../ui";

/** Chats. */
export default function ChatsPage(_: { chatId: string | null; threadId: string | null }) {
  return (
    <Page title="Chats">
      <p>Chats.</p>
    </Page>
  );
}

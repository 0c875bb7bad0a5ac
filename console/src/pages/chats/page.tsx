import { MessagesSquare, Plus } from "lucide-react";
import { useState } from "react";
import { useQuery } from "urql";
import { Link, useLocation } from "wouter";
import { problemOf } from "../../data/problem";
import { AgentPicture } from "../../parts/agent-choice/agent-picture";
import { useViewer } from "../../session/viewer";
import { Badge, Button, cx, Empty, ErrorNote, Page, Skeleton } from "../../ui";
import { ChatView } from "./chat-view";
import { CHATS } from "./documents";
import { type ChatRow, chatName } from "./names";
import { NewChat } from "./new-chat";
import css from "./page.module.css";

/** Where people and agents talk: the chats at the left, one of them at the right. */
export default function ChatsPage(props: { chatId: string | null; threadId: string | null }) {
  const { chatId, threadId } = props;
  const [begins, setBegins] = useState(false);
  const [, navigate] = useLocation();
  return (
    <div className={cx(css.chats, chatId !== null && css.opened)}>
      <aside className={css.list} aria-label="Chats">
        <header className={css.head}>
          <h2 className={css.title}>Chats</h2>
          <Button small icon={<Plus />} onClick={() => setBegins(true)}>
            New chat
          </Button>
        </header>
        <ChatList here={chatId} onNew={() => setBegins(true)} />
      </aside>
      <div className={css.chat}>
        {chatId === null ? (
          <Page title="Chats">
            <Empty icon={<MessagesSquare />} title="No chat is open">
              Choose one, or begin a new one. All agents in a chat answer what is said there; naming
              some with @ asks those alone.
            </Empty>
          </Page>
        ) : (
          <ChatView key={chatId} chatId={chatId} threadId={threadId} />
        )}
      </div>
      <NewChat
        open={begins}
        onClose={() => setBegins(false)}
        onCreated={(chat, thread) => navigate(`/chats/${chat}/${thread}`)}
      />
    </div>
  );
}

function ChatList({ here, onNew }: { here: string | null; onNew: () => void }) {
  const [after, setAfter] = useState<string[]>([]);
  const pages = [null, ...after];
  return (
    <nav aria-label="Chats" className={css.scroll}>
      {pages.map((cursor, index) => (
        <ChatPage
          key={cursor ?? ""}
          after={cursor}
          here={here}
          first={index === 0}
          onNew={onNew}
          onMore={index === pages.length - 1 ? (next) => setAfter([...after, next]) : null}
        />
      ))}
    </nav>
  );
}

interface ChatPageProps {
  after: string | null;
  here: string | null;
  first: boolean;
  onNew: () => void;
  onMore: ((after: string) => void) | null;
}

function ChatPage({ after, here, first, onNew, onMore }: ChatPageProps) {
  const [{ data, fetching, error }] = useQuery({
    query: CHATS,
    variables: { after },
    requestPolicy: "cache-and-network",
  });
  if (error) return <ErrorNote title="The chats can't be read" problem={problemOf(error)} />;
  if (!data) return fetching ? <Skeleton /> : null;
  const { nodes, pageInfo } = data.chats;
  if (first && nodes.length === 0)
    return (
      <Empty title="No chats yet" actions={<Button onClick={onNew}>New chat</Button>}>
        Each agent that you create gets one; others you begin here.
      </Empty>
    );
  const next = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  return (
    <>
      <ul className={css.rows}>
        {nodes.map((chat) => (
          <li key={chat.id}>
            <ChatLink chat={chat} here={chat.id === here} />
          </li>
        ))}
      </ul>
      {onMore && next && <Button onClick={() => onMore(next)}>Older chats</Button>}
    </>
  );
}

function ChatLink({ chat, here }: { chat: ChatRow; here: boolean }) {
  const name = chatName(chat, useViewer().id);
  const agents = chat.members.filter(({ agent }) => agent).length;
  return (
    <Link
      href={`/chats/${chat.id}`}
      className={cx(css.row, here && css.here)}
      aria-current={here ? "page" : undefined}
    >
      <AgentPicture
        name={name}
        picture={chat.members.find(({ agent }) => agent)?.agent?.picture ?? null}
      />
      <span className={css.about}>
        <span className={css.name}>{name}</span>
        <span className={css.who}>
          {agents} {agents === 1 ? "agent" : "agents"}, {chat.members.length - agents}{" "}
          {chat.members.length - agents === 1 ? "person" : "people"}
        </span>
      </span>
      {chat.temporary && <Badge>Temporary</Badge>}
    </Link>
  );
}

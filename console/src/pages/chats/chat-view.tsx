import { ArrowLeft, Plus, Users } from "lucide-react";
import { useState } from "react";
import { useQuery } from "urql";
import { Link, useLocation } from "wouter";
import { problemOf } from "../../data/problem";
import { useDeed } from "../../data/use-deed";
import { useViewer } from "../../session/viewer";
import { Button, Dialog, Empty, ErrorNote, Page, SelectField, Skeleton, TextField } from "../../ui";
import css from "./chat-view.module.css";
import { CHAT_WHOLE, CREATE_THREAD } from "./documents";
import { Members } from "./members";
import { chatName } from "./names";
import { ThreadView } from "./thread-view";

/** One chat: its threads, of which one is shown, and who is in it. */
export function ChatView({ chatId, threadId }: { chatId: string; threadId: string | null }) {
  const [{ data, fetching, error }] = useQuery({
    query: CHAT_WHOLE,
    variables: { id: chatId },
    requestPolicy: "cache-and-network",
  });
  const [members, setMembers] = useState(false);
  const [begins, setBegins] = useState(false);
  const [, navigate] = useLocation();
  const viewer = useViewer();
  const chat = data?.chat ?? null;
  if (error)
    return (
      <Page title="Chat">
        <ErrorNote title="The chat can't be read" problem={problemOf(error)} />
      </Page>
    );
  if (chat === null)
    return (
      <Page title="Chat">
        {fetching ? (
          <Skeleton />
        ) : (
          <Empty title="There is no such chat" actions={<Link href="/chats">All chats</Link>}>
            It is gone, or you are not in it.
          </Empty>
        )}
      </Page>
    );
  const threads = chat.threads.nodes;
  const thread = threads.find(({ id }) => id === threadId) ?? threads[0];
  return (
    <Page
      fill
      title={chatName(chat, viewer.id)}
      above={
        <Link href="/chats" className={css.back}>
          <ArrowLeft size={14} aria-hidden="true" /> Chats
        </Link>
      }
      actions={
        <>
          {threads.length > 1 && (
            <SelectField
              label="Thread"
              hideLabel
              value={thread?.id}
              onChange={(event) => navigate(`/chats/${chatId}/${event.currentTarget.value}`)}
            >
              {threads.map(({ id, title }, index) => (
                <option key={id} value={id}>
                  {title ?? `Thread ${index + 1}`}
                </option>
              ))}
            </SelectField>
          )}
          <Button look="quiet" icon={<Plus />} onClick={() => setBegins(true)}>
            Thread
          </Button>
          <Button look="quiet" icon={<Users />} onClick={() => setMembers(true)}>
            Members
          </Button>
        </>
      }
    >
      {thread && <ThreadView key={thread.id} threadId={thread.id} chat={chat} />}
      <Members
        open={members}
        onClose={() => setMembers(false)}
        chat={chat}
        thread={thread ?? null}
      />
      <NewThread
        open={begins}
        onClose={() => setBegins(false)}
        chatId={chatId}
        onCreated={(id) => navigate(`/chats/${chatId}/${id}`)}
      />
    </Page>
  );
}

function NewThread(props: {
  open: boolean;
  onClose: () => void;
  chatId: string;
  onCreated: (id: string) => void;
}) {
  const { open, onClose, chatId, onCreated } = props;
  const [title, setTitle] = useState("");
  const create = useDeed(CREATE_THREAD, "createThread");
  const act = async () => {
    const { payload } = await create.act((key) => ({
      input: { chatId, key, ...(title.trim() && { title: title.trim() }) },
    }));
    if (!payload?.thread) return;
    onCreated(payload.thread.id);
    setTitle("");
    onClose();
  };
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => !next && onClose()}
      title="New thread"
      description="Another conversation among the same members. Agents read the thread that they are asked in, and no other."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={create.busy} onClick={() => void act()}>
            Begin
          </Button>
        </>
      }
    >
      {create.problem && <ErrorNote title="The thread was not begun" problem={create.problem} />}
      <TextField
        label="Title (optional)"
        maxLength={512}
        value={title}
        onChange={(event) => setTitle(event.currentTarget.value)}
      />
    </Dialog>
  );
}

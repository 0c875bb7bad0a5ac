import { LogOut, UserMinus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useQuery } from "urql";
import { useLocation } from "wouter";
import { useDeed } from "../../data/use-deed";
import { AgentPicture } from "../../parts/agent-choice/agent-picture";
import { useViewer } from "../../session/viewer";
import {
  announce,
  Badge,
  Button,
  Confirm,
  Dialog,
  ErrorNote,
  SelectField,
  TextField,
} from "../../ui";
import type { UpdateChatMembersInput } from "./api";
import { MEMBERS_TO_ADD, UPDATE_MEMBERS } from "./documents";
import css from "./members.module.css";
import type { ChatRow, Member } from "./names";
import { idsIn } from "./people";
import { Remotes, type ThreadRow } from "./remotes";

interface MembersProps {
  open: boolean;
  onClose: () => void;
  chat: ChatRow;
  thread: ThreadRow | null;
}

/** Who is in a chat, and which remotes its agents may use in the thread that is open. */
export function Members({ open, onClose, chat, thread }: MembersProps) {
  const viewer = useViewer();
  const update = useDeed(UPDATE_MEMBERS, "updateChatMembers");
  const [{ data }] = useQuery({ query: MEMBERS_TO_ADD, pause: !open });
  const [leaves, setLeaves] = useState(false);
  const [, navigate] = useLocation();
  const inside = new Set(chat.members.map(({ agent }) => agent?.id));
  const others = (data?.agents.nodes ?? []).filter(({ id }) => !inside.has(id));
  const people = chat.members.filter(({ userId }) => userId !== null);

  const change = async (more: Omit<UpdateChatMembersInput, "chatId">, said: string) => {
    const { problem } = await update.act(() => ({ input: { chatId: chat.id, ...more } }));
    if (problem === null) announce(said);
    return problem === null;
  };
  const leave = async () => {
    if (await change({ removeUsers: [viewer.id] }, "You have left the chat")) navigate("/chats");
  };

  return (
    <Dialog drawer open={open} onOpenChange={(next) => !next && onClose()} title="Members">
      {update.problem && (
        <ErrorNote title="Nothing was changed" problem={update.problem} onDismiss={update.clear} />
      )}
      <section className={css.part}>
        <ul>
          {chat.members.map((member) => (
            <MemberRow
              key={member.userId ?? member.agent?.id ?? "gone"}
              member={member}
              onRemove={(more) => void change(more, "Removed")}
            />
          ))}
        </ul>
        {others.length > 0 && (
          <SelectField
            label="Add an agent"
            value=""
            onChange={(event) =>
              void change({ addAgents: [event.currentTarget.value] }, "The agent was added")
            }
          >
            <option value="">Choose…</option>
            {others.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </SelectField>
        )}
        <AddPeople onAdd={(ids) => change({ addUsers: ids }, "Added")} />
        <Button icon={<LogOut />} onClick={() => setLeaves(true)}>
          Leave the chat
        </Button>
      </section>
      {thread && <Remotes thread={thread} remotes={data?.remotes.nodes ?? []} />}
      <Confirm
        open={leaves}
        onOpenChange={setLeaves}
        danger
        title="Leave this chat?"
        description={
          people.length > 1
            ? "The others go on without you. One of them can let you in again."
            : "You are the last one in it: it is removed, with all that was said there."
        }
        confirm="Leave"
        onConfirm={leave}
      />
    </Dialog>
  );
}

function MemberRow(props: {
  member: Member;
  onRemove: (more: Omit<UpdateChatMembersInput, "chatId">) => void;
}) {
  const { member, onRemove } = props;
  const viewer = useViewer();
  const { userId, agent } = member;
  const name = agent?.name ?? userId ?? "An agent that was removed";
  const remove = agent
    ? { removeAgents: [agent.id] }
    : userId && userId !== viewer.id
      ? { removeUsers: [userId] }
      : null;
  return (
    <li className={css.member}>
      <AgentPicture small name={name} picture={agent?.picture ?? null} />
      <span className={css.name}>
        {name}
        {agent?.handle && ` @${agent.handle}`}
      </span>
      {agent && <Badge tone="accent">Agent</Badge>}
      {userId === viewer.id && <Badge>You</Badge>}
      {remove && (
        <Button
          look="quiet"
          small
          icon={<UserMinus />}
          aria-label={`Remove ${name}`}
          title={`Remove ${name}`}
          onClick={() => onRemove(remove)}
        />
      )}
    </li>
  );
}

function AddPeople({ onAdd }: { onAdd: (ids: string[]) => Promise<boolean> }) {
  const [text, setText] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const ids = idsIn(text);
    if (ids.length > 0 && (await onAdd(ids))) setText("");
  };
  return (
    <form className={css.add} onSubmit={(event) => void submit(event)}>
      <TextField
        label="Add people by their user ids"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Button type="submit">Add</Button>
    </form>
  );
}

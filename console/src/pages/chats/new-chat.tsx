import { useState } from "react";
import { useQuery } from "urql";
import { useDeed } from "../../data/use-deed";
import { AgentPicture } from "../../parts/agent-choice/agent-picture";
import { Button, Dialog, ErrorNote, TextField } from "../../ui";
import { CREATE_CHAT, MEMBERS_TO_ADD } from "./documents";
import css from "./members.module.css";
import { idsIn } from "./people";

interface NewChatProps {
  open: boolean;
  onClose: () => void;
  onCreated: (chatId: string, threadId: string) => void;
}

/** Begins a chat: what it is called, and who is in it from the start. */
export function NewChat({ open, onClose, onCreated }: NewChatProps) {
  const [title, setTitle] = useState("");
  const [people, setPeople] = useState("");
  const [chosen, choose] = useState<string[]>([]);
  const [{ data }] = useQuery({ query: MEMBERS_TO_ADD, pause: !open });
  const create = useDeed(CREATE_CHAT, "createChat");
  const agents = data?.agents.nodes ?? [];

  const act = async () => {
    const { payload } = await create.act((key) => ({
      input: {
        key,
        ...(title.trim() && { title: title.trim() }),
        agents: chosen,
        users: idsIn(people),
      },
    }));
    if (!payload?.chat || !payload.thread) return;
    onCreated(payload.chat.id, payload.thread.id);
    onClose();
    setTitle("");
    setPeople("");
    choose([]);
  };

  return (
    <Dialog
      open={open}
      onOpenChange={(next) => !next && onClose()}
      title="New chat"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={create.busy} onClick={() => void act()}>
            Begin
          </Button>
        </>
      }
    >
      <div className={css.form}>
        {create.problem && <ErrorNote title="The chat was not begun" problem={create.problem} />}
        <TextField
          label="Title (optional)"
          maxLength={512}
          value={title}
          onChange={(event) => setTitle(event.currentTarget.value)}
        />
        <fieldset>
          <legend className={css.legend}>Agents</legend>
          {agents.length === 0 && (
            <p className={css.none}>You have no agents yet: create one on the page of agents.</p>
          )}
          {agents.map(({ id, name, picture }) => (
            <label key={id} className={css.choice}>
              <input
                type="checkbox"
                checked={chosen.includes(id)}
                onChange={(event) =>
                  choose(
                    event.currentTarget.checked
                      ? [...chosen, id]
                      : chosen.filter((each) => each !== id),
                  )
                }
              />
              <AgentPicture small name={name} picture={picture} />
              {name}
            </label>
          ))}
        </fieldset>
        <TextField
          label="People beside you (optional)"
          value={people}
          help="Their user ids, separated by commas."
          onChange={(event) => setPeople(event.currentTarget.value)}
        />
      </div>
    </Dialog>
  );
}

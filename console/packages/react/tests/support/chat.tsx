import { createTransport, SteersmanProvider, useRun } from "@steersman/react";

const transport = createTransport({ token: () => localStorage.getItem("token") });

export function Chat() {
  const run = useRun({ agent: "researcher" });
  const say = (field: HTMLInputElement) => {
    void run.steer(field.value);
    field.value = "";
  };
  return (
    <main>
      {run.messages.map(({ id, text }) => text && <p key={id}>{text}</p>)}
      {run.partial?.blocks.map(({ index, text }) => text && <p key={index}>{text}</p>)}
      {run.queue.map(({ key, text, state }) => text && <p key={key}>{`${text} (${state})`}</p>)}
      {run.error && <p role="alert">{run.error.message}</p>}
      <input aria-label="Say" onKeyDown={(e) => e.key === "Enter" && say(e.currentTarget)} />
      <input type="button" value="Stop" disabled={!run.isActive} onClick={() => run.cancel()} />
    </main>
  );
}

export const App = () => (
  <SteersmanProvider transport={transport}>
    <Chat />
  </SteersmanProvider>
);

// @vitest-environment happy-dom
import { SteersmanProvider } from "@steersman/react";
import { createFakeRun, createFakeTransport } from "@steersman/react/testing";
import { fireEvent, render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { Chat } from "./chat.js";

test("what one says is answered while it is written", async () => {
  const transport = createFakeTransport();
  const run = createFakeRun(transport, { agent: "researcher" });
  transport.answer("Start", ({ input }) => {
    run.say("USER", input.input);
    return { startRun: { run: run.row, queued: false, inputId: null, errors: [] } };
  });
  render(
    <SteersmanProvider transport={transport}>
      <Chat />
    </SteersmanProvider>,
  );

  const field = screen.getByLabelText("Say");
  fireEvent.change(field, { target: { value: "Hello?" } });
  fireEvent.keyDown(field, { key: "Enter" });
  await screen.findByText("Hello?");

  run.tell({ __typename: "TextDelta", step: 1, block: 0, offset: 0, text: "Hello to you" });
  await screen.findByText("Hello to you");
  expect(screen.getByText("Hello?")).toBeDefined();
});

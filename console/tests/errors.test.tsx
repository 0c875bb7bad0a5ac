import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { ErrorNote } from "../src/ui";

afterEach(cleanup);

test("an error is told as an alert, with its code and what to do next", () => {
  render(
    <ErrorNote
      title="Not sent"
      problem={{ code: "BUDGET_SPENT", message: "The budget is spent." }}
    />,
  );
  const alert = screen.getByRole("alert");
  expect(alert.textContent).toContain("The budget is spent.");
  expect(alert.textContent).toContain("BUDGET_SPENT");
  expect(alert.textContent).toContain("larger budget");
  expect(screen.getByRole("button", { name: "Copy error" })).toBeDefined();
});

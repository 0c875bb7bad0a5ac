import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, describe, expect, test } from "vitest";
import { faultsOf, NOTHING_TYPED, Options, optionsOf } from "../src/pages/new-run/options";

afterEach(cleanup);

function Form() {
  const [all, setAll] = useState(NOTHING_TYPED);
  const [open, setOpen] = useState(true);
  return <Options typed={all} onChange={setAll} open={open} onOpen={setOpen} />;
}

const typed = (more: object) => ({ ...NOTHING_TYPED, ...more });

test("what was left empty is left out", () => {
  expect(optionsOf(NOTHING_TYPED)).toEqual({});
  const all = { title: " Ink ", cost: "0.50", tokens: "1000", tags: '{"team": "blue"}' };
  expect(optionsOf(all)).toEqual({
    title: "Ink",
    budget: { cost: "0.50", tokens: 1000 },
    metadata: { team: "blue" },
  });
});

describe("a budget is an amount as people write it", () => {
  test.each([
    ["0.50", true],
    ["3", true],
    ["0", false],
    ["-1", false],
    ["1,50", false],
    ["0x10", false],
    ["1e3", false],
    ["Infinity", false],
  ])("%s", (cost, fine) => {
    expect("cost" in faultsOf(typed({ cost }))).toBe(!fine);
  });
});

test.each(["[1]", '"text"', "{"])("tags are an object and not %s", (tags) => {
  expect(faultsOf(typed({ tags })).tags).toBeDefined();
});

test("the options stay unfolded when a field of theirs is emptied", () => {
  render(<Form />);
  const field = screen.getByLabelText("Title");
  for (const value of ["x", ""]) fireEvent.change(field, { target: { value } });
  expect(field.closest("details")?.open).toBe(true);
});

import { expect, test } from "vitest";
import { countInTab } from "../src/ui";
import { nameTab } from "../src/ui/tab-title";

test("the tab has the page's name, and before it how much waits, whichever changes", () => {
  nameTab("Runs");
  expect(document.title).toBe("Runs · Steersman");
  countInTab(2);
  expect(document.title).toBe("(2) Runs · Steersman");
  nameTab("Agents");
  expect(document.title).toBe("(2) Agents · Steersman");
  countInTab(0);
  expect(document.title).toBe("Agents · Steersman");
});

/** GraphiQL as a person works with it: what to click, where to type, what to read. */

/** Waits until the page is there and has read the schema. */
export async function opened(page) {
  await page.locator(".graphiql-query-editor .view-lines").waitFor();
  await page.locator(".graphiql-spinner").waitFor({ state: "detached" });
}

/** Brings the tab with this operation's name to the front. */
export async function openTab(page, name) {
  await page.getByRole("tablist").getByRole("button", { name, exact: true }).click();
}

/** Writes into the pane named "variables", "headers" or "query", in place of what it held. */
export async function fill(page, pane, text) {
  if (pane !== "query") await page.getByRole("button", { name: pane === "headers" ? "Headers" : "Variables" }).click();
  const editor = {
    query: page.locator(".graphiql-query-editor"),
    variables: page.locator(".graphiql-editor-tool .graphiql-editor:not(.hidden)"),
    headers: page.locator(".graphiql-editor-tool .graphiql-editor:not(.hidden)"),
  }[pane];
  await editor.locator(".view-lines").first().click();
  await page.keyboard.press("Control+A");
  // Pasted: as keys are typed, the editor closes each bracket by itself.
  await page.evaluate((pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", pasted);
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
  }, text);
}

/** Presses the play button. */
export async function run(page) {
  await page.getByRole("button", { name: /Execute query/ }).click();
}

/** What the response pane holds, as text; the editor itself shows only the lines in view. */
export async function response(page, found) {
  const pane = page.locator(".result-window .view-lines");
  await page.bringToFront();
  await page.waitForFunction(
    ([element, source]) => new RegExp(source).test(element.innerText.replace(/\u00a0/g, " ")),
    [await pane.elementHandle(), found.source],
  );
  return (await pane.innerText()).replace(/\u00a0/g, " ");
}

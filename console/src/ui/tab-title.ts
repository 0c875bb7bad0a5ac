let page = "";
let waiting = 0;

function show(): void {
  const name = page ? `${page} · Steersman` : "Steersman";
  document.title = waiting > 0 ? `(${waiting}) ${name}` : name;
}

/** Names the browser's tab after the page that it shows. */
export function nameTab(title: string): void {
  page = title;
  show();
}

/** Puts before the tab's name how much waits for the viewer, to be seen from other tabs. */
export function countInTab(count: number): void {
  waiting = count;
  show();
}

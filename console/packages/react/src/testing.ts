/** For tests of what is built on this library: a transport without a server, and runs to be shown over it. */

export { createFakeRun, type FakeRun } from "./fake-run.js";
export { createFakeTransport, type FakeTransport } from "./fake-transport.js";

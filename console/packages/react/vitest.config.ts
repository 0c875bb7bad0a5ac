import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.{ts,tsx}"],
    // Half of a laptop: other tests may run beside these.
    maxWorkers: 2,
  },
});

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  test: {
    include: ["tests/**/*.test.{ts,tsx}"],
    environment: "happy-dom",
    css: { modules: { classNameStrategy: "non-scoped" } },
    // Far above what any test takes: a machine that is busy fails none.
    testTimeout: 120_000,
    // Half of a laptop: other tests may run beside these.
    maxWorkers: 2,
  },
});

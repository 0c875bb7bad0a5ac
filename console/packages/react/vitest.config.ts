import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (name: string) => fileURLToPath(new URL(`src/${name}.ts`, import.meta.url));

export default defineConfig({
  // The examples name the package as its users do.
  resolve: {
    alias: {
      "@steersman/react/assistant-ui": source("assistant-ui"),
      "@steersman/react/testing": source("testing"),
      "@steersman/react": source("index"),
    },
  },
  test: {
    include: ["tests/**/*.test.{ts,tsx}"],
    setupFiles: ["tests/support/patience.ts"],
    // Far above what any test takes: a machine that is busy fails none.
    testTimeout: 120_000,
    // Half of a laptop: other tests may run beside these.
    maxWorkers: 2,
  },
});

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { precompress } from "./build/precompress.ts";

// The server that `npm run dev` hands GraphQL on to.
const server = process.env.STEERSMAN_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  // Absolute, because GraphiQL is served at /console/graphiql and, to browsers, at /graphql.
  base: "/console/",
  plugins: [react(), precompress()],
  worker: { format: "es" },
  build: {
    target: "es2022",
    // The editor of GraphiQL is one large chunk, loaded once from the same host and kept by its hashed name.
    chunkSizeWarningLimit: 6000,
    // Inlined files would be addresses that the pages' policy does not allow.
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: { index: "index.html", graphiql: "graphiql.html" },
      // GraphiQL's packages carry hints for a compiler that has already run; nothing to act on.
      onLog(level, log, report) {
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") report(level, log);
      },
    },
  },
  server: {
    host: "127.0.0.1",
    proxy: {
      "/graphql": { target: server, ws: true },
      "/files": server,
      "/console/config.json": server,
    },
  },
});

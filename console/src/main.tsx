import "graphiql/setup-workers/vite";
import "graphiql/style.css";
import "./page.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Page } from "./page";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element #root");
createRoot(root).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);

import "graphiql/setup-workers/vite";
import "graphiql/style.css";
import "../ui/tokens.css";
import "./page.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startTheme } from "../ui/theme";
import { Page } from "./page";

startTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element #root");
createRoot(root).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);

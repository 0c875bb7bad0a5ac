import { document } from "../data/document";
import type * as api from "./api";

export const VIEWER = document<api.ViewerQuery, api.ViewerQueryVariables>(`
  query Viewer { viewer { id roles isAdmin } }`);

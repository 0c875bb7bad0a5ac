import { document } from "../../data/document";
import type * as api from "./api";

export const CHOICES = document<api.ChoicesQuery, api.ChoicesQueryVariables>(`
  query Choices {
    agentKinds { identifier available description examples }
    agents(first: 100) { nodes { id name handle description picture userId } }
  }`);

import { document } from "../../data/document";
import type * as api from "./api";

/** What a run began with, to begin another like it. */
export const BEGINNING = document<api.BeginningQuery, api.BeginningQueryVariables>(`
  query Beginning($id: ID!) {
    run(id: $id) { id agent title metadata messages(first: 1) { nodes { id text } } }
  }`);

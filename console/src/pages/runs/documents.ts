import { document } from "../../data/document";
import type * as api from "./api";

export const CANCEL_ONE = document<api.CancelOneMutation, api.CancelOneMutationVariables>(`
  mutation CancelOne($input: CancelRunInput!) {
    cancelRun(input: $input) { run { id status } errors { code message } }
  }`);

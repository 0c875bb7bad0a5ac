import { document } from "../../data/document";
import type * as api from "./api";

const REFUSED = "errors { code message field }";

const WHOLE = `
  fragment Whole on Agent {
    id name handle description picture userId temporary sharedWith config createdAt updatedAt
    kind { identifier available description jsonSchema fields { name type default description required } }
    mainChat { id }
  }`;

export const AGENT = document<api.AgentQuery, api.AgentQueryVariables>(`
  query Agent($id: ID!) { agent(id: $id) { ...Whole } }
  ${WHOLE}`);

export const UPDATE = document<api.UpdateMutation, api.UpdateMutationVariables>(`
  mutation Update($input: UpdateAgentInput!) {
    updateAgent(input: $input) { agent { ...Whole } ${REFUSED} }
  }
  ${WHOLE}`);

export const DELETE = document<api.DeleteMutation, api.DeleteMutationVariables>(`
  mutation Delete($input: DeleteAgentInput!) { deleteAgent(input: $input) { deletedId ${REFUSED} } }`);

export const RESOURCES = document<api.ResourcesQuery, api.ResourcesQueryVariables>(`
  query Resources($id: ID!) {
    agent(id: $id) { id resources(first: 100) { nodes { id key kind value } } }
    toolTypes { identifier description inputSchema configSchema }
  }`);

export const SET_RESOURCE = document<api.SetResourceMutation, api.SetResourceMutationVariables>(`
  mutation SetResource($input: SetResourceInput!) {
    setResource(input: $input) { agent { id resources(first: 100) { nodes { id key kind value } } } ${REFUSED} }
  }`);

export const DELETE_RESOURCE = document<
  api.DeleteResourceMutation,
  api.DeleteResourceMutationVariables
>(`
  mutation DeleteResource($input: DeleteResourceInput!) {
    deleteResource(input: $input) { agent { id resources(first: 100) { nodes { id key kind value } } } ${REFUSED} }
  }`);

export const PROMPT = document<api.PromptMutation, api.PromptMutationVariables>(`
  mutation Prompt($input: PromptAgentInput!) {
    promptAgent(input: $input) { run { id } ${REFUSED} }
  }`);

export const HISTORY = document<api.HistoryQuery, api.HistoryQueryVariables>(`
  query History($id: ID!, $after: String) {
    agent(id: $id) {
      id
      runs(first: 20, after: $after) {
        nodes {
          id title status finish steps createdAt output
          usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens cost }
          messages(first: 1) { nodes { id text } }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }`);

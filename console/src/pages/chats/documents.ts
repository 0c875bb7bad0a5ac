import { document } from "../../data/document";
import type * as api from "./api";

const CHAT = `
  fragment ChatRow on Chat {
    id title temporary createdAt
    members { userId agent { id name handle picture } }
  }`;

export const CHATS = document<api.ChatsQuery, api.ChatsQueryVariables>(`
  query Chats($after: String) {
    chats(first: 50, after: $after) { nodes { ...ChatRow } pageInfo { hasNextPage endCursor } }
  }
  ${CHAT}`);

export const CHAT_WHOLE = document<api.ChatWholeQuery, api.ChatWholeQueryVariables>(`
  query ChatWhole($id: ID!) {
    chat(id: $id) {
      ...ChatRow
      threads(last: 50) {
        nodes { id title createdAt resources(kind: "remote", first: 50) { nodes { id key value } } }
      }
    }
  }
  ${CHAT}`);

export const MEMBERS_TO_ADD = document<api.MembersToAddQuery, api.MembersToAddQueryVariables>(`
  query MembersToAdd {
    agents(first: 100) { nodes { id name handle picture } }
    remotes(first: 100) { nodes { id name kind connected tools { name } } }
  }`);

export const CREATE_CHAT = document<api.CreateChatMutation, api.CreateChatMutationVariables>(`
  mutation CreateChat($input: CreateChatInput!) {
    createChat(input: $input) { chat { ...ChatRow } thread { id } errors { code message field } }
  }
  ${CHAT}`);

export const CREATE_THREAD = document<api.CreateThreadMutation, api.CreateThreadMutationVariables>(`
  mutation CreateThread($input: CreateThreadInput!) {
    createThread(input: $input) { thread { id title createdAt } errors { code message field } }
  }`);

export const UPDATE_MEMBERS = document<
  api.UpdateMembersMutation,
  api.UpdateMembersMutationVariables
>(`
  mutation UpdateMembers($input: UpdateChatMembersInput!) {
    updateChatMembers(input: $input) { chat { ...ChatRow } errors { code message field } }
  }
  ${CHAT}`);

export const LEND = document<api.LendMutation, api.LendMutationVariables>(`
  mutation Lend($input: SetThreadResourceInput!) {
    setThreadResource(input: $input) {
      thread { id resources(kind: "remote", first: 50) { nodes { id key value } } }
      errors { code message field }
    }
  }`);

import { document } from "../../data/document";
import type * as api from "./api";

const REFUSED = "errors { code message field }";

export const AGENTS = document<api.AgentsQuery, api.AgentsQueryVariables>(`
  query Agents($after: String) {
    agents(first: 50, after: $after) {
      nodes { id name handle description picture userId temporary sharedWith updatedAt kind { identifier available } }
      pageInfo { hasNextPage endCursor }
    }
  }`);

export const KINDS = document<api.KindsQuery, api.KindsQueryVariables>(`
  query Kinds {
    agentKinds {
      identifier available description examples jsonSchema
      fields { name type default description required }
    }
  }`);

export const CREATE_AGENT = document<api.CreateAgentMutation, api.CreateAgentMutationVariables>(`
  mutation CreateAgent($input: CreateAgentInput!) {
    createAgent(input: $input) { agent { id } ${REFUSED} }
  }`);

export const REMOTES = document<api.RemotesQuery, api.RemotesQueryVariables>(`
  query Remotes {
    remotes(first: 100) { nodes { id name kind connected tools { name description inputSchema } } }
  }`);

export const REGISTER = document<api.RegisterMutation, api.RegisterMutationVariables>(`
  mutation Register($input: RegisterRemoteInput!) {
    registerRemote(input: $input) { remote { id name kind connected tools { name description inputSchema } } ${REFUSED} }
  }`);

export const DELETE_REMOTE = document<api.DeleteRemoteMutation, api.DeleteRemoteMutationVariables>(`
  mutation DeleteRemote($input: DeleteRemoteInput!) {
    deleteRemote(input: $input) { deletedId ${REFUSED} }
  }`);

export const SCHEDULES = document<api.SchedulesQuery, api.SchedulesQueryVariables>(`
  query Schedules {
    schedules(first: 100) {
      nodes { id userId agent input cron timeZone enabled nextAt lastError lastRun { id status title } }
    }
  }`);

export const CREATE_SCHEDULE = document<
  api.CreateScheduleMutation,
  api.CreateScheduleMutationVariables
>(`
  mutation CreateSchedule($input: CreateScheduleInput!) {
    createSchedule(input: $input) { schedule { id nextAt } ${REFUSED} }
  }`);

export const DELETE_SCHEDULE = document<
  api.DeleteScheduleMutation,
  api.DeleteScheduleMutationVariables
>(`
  mutation DeleteSchedule($input: DeleteScheduleInput!) {
    deleteSchedule(input: $input) { deletedId ${REFUSED} }
  }`);

export const WEBHOOKS = document<api.WebhooksQuery, api.WebhooksQueryVariables>(`
  query Webhooks {
    webhooks(first: 100) {
      nodes { id url agent enabled lastDelivery { runId status attempts deliveredAt error } }
    }
  }`);

export const CREATE_WEBHOOK = document<
  api.CreateWebhookMutation,
  api.CreateWebhookMutationVariables
>(`
  mutation CreateWebhook($input: CreateWebhookInput!) {
    createWebhook(input: $input) { webhook { id } secret ${REFUSED} }
  }`);

export const DELETE_WEBHOOK = document<
  api.DeleteWebhookMutation,
  api.DeleteWebhookMutationVariables
>(`
  mutation DeleteWebhook($input: DeleteWebhookInput!) {
    deleteWebhook(input: $input) { deletedId ${REFUSED} }
  }`);

export const MODELS = document<api.ModelsQuery, api.ModelsQueryVariables>(`
  query Models { models { id allowed contextTokens maxOutputTokens inputPrice outputPrice } }`);

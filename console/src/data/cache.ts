import type { CacheExchangeOpts, UpdateResolver } from "@urql/exchange-graphcache";
import { WITHOUT_ID } from "./without-id";

/** Forgets lists of the root that a mutation may have changed, so that they are read anew. */
function renews(...fields: string[]): UpdateResolver {
  return (_result, _args, cache) => {
    for (const { fieldName, fieldKey } of cache.inspectFields("Query"))
      if (fields.includes(fieldName)) cache.invalidate("Query", fieldKey);
  };
}

/** Forgets one thing, which `field` of the mutation's input names, and the lists that it was in. */
function removes(type: string, ...fields: string[]): UpdateResolver {
  return (result, args, cache, info) => {
    const { id } = (args as { input: { id: string } }).input;
    cache.invalidate({ __typename: type, id });
    renews(...fields)(result, args, cache, info);
  };
}

/** What the cache must know of the schema: what has no id, and which lists a mutation changes. */
export const CACHE: CacheExchangeOpts = {
  keys: Object.fromEntries(WITHOUT_ID.map((type) => [type, () => null])),
  updates: {
    Mutation: {
      createAgent: renews("agents", "agent", "chats"),
      updateAgent: renews("agent"),
      deleteAgent: removes("Agent", "agents", "agent", "chats"),
      createChat: renews("chats"),
      updateChatMembers: renews("chats", "chat"),
      createThread: renews("chat"),
      createSchedule: renews("schedules"),
      deleteSchedule: removes("Schedule", "schedules"),
      createWebhook: renews("webhooks"),
      deleteWebhook: removes("Webhook", "webhooks"),
      registerRemote: renews("remotes"),
      deleteRemote: removes("Remote", "remotes"),
    },
  },
};

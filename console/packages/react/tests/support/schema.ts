import { readFileSync } from "node:fs";
import { buildSchema, extendSchema, type GraphQLSchema, parse } from "graphql";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

/** The API as the server prints it. */
export function printedSchema(): GraphQLSchema {
  const schema = buildSchema(read("../../../../../schema/schema.graphql"));
  if (schema.getType("ChatMessage") !== undefined) return schema;
  return extendSchema(schema, parse(read("./chats.graphql")));
}

import { readFileSync } from "node:fs";
import { buildSchema, type GraphQLSchema } from "graphql";

const FILE = new URL("../../../../../schema/schema.graphql", import.meta.url);

/** The API as the server prints it. */
export const printedSchema = (): GraphQLSchema => buildSchema(readFileSync(FILE, "utf8"));

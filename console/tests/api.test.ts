// @vitest-environment node

import type { TypedDocumentNode } from "@urql/core";
import { isInterfaceType, isObjectType, print } from "graphql";
import { expect, test } from "vitest";
import { printedSchema } from "../packages/react/tests/support/schema.js";
import { typesOf } from "../packages/react/tests/support/types.js";

const MODULES = import.meta.glob<Record<string, TypedDocumentNode>>("../src/**/documents.ts");

test.each(Object.entries(MODULES))(
  "the types beside %s are those that are made of its operations and the printed schema",
  async (path, load) => {
    const texts = Object.values(await load()).map((document) => print(document));
    const types = typesOf(printedSchema(), texts);
    await expect(types).toMatchFileSnapshot(path.replace("documents.ts", "api.ts"));
  },
);

test("the cache knows every type that has no id", async () => {
  const types = Object.values(printedSchema().getTypeMap())
    .filter((type) => isObjectType(type) && !type.name.startsWith("__"))
    .filter((type) => !isInterfaceType(type) && isObjectType(type) && !("id" in type.getFields()))
    .map(({ name }) => name)
    .filter((name) => !["Query", "Mutation", "Subscription"].includes(name))
    .sort();
  const text = `// Made by \`npm run types\` of the printed schema. Not edited by hand.

/** The types that have no id: the cache keeps them inside what they were read with. */
export const WITHOUT_ID = ${JSON.stringify(types, null, 2)};
`;
  await expect(text).toMatchFileSnapshot("../src/data/without-id.ts");
});

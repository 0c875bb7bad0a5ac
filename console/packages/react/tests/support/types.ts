import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  type TypeNode,
  typeFromAST,
  validate,
} from "graphql";

const HEAD = `// Made by \`npm run types\` of src/documents.ts and the printed schema. Not edited by hand.

/** Any JSON value, as the API gives it. */
export type Json = unknown;
`;

const SCALARS: Record<string, string> = {
  ID: "string",
  String: "string",
  DateTime: "string",
  Decimal: "string",
  Int: "number",
  Float: "number",
  BigInt: "number",
  Boolean: "boolean",
  JSON: "Json",
  // Codes are added in time, so a page must bear one that it does not know.
  ErrorCode: "string",
};

/**
 * TypeScript for everything that operations ask and are answered: one type a fragment, two an operation, and the enums
 * and inputs that they use. Where a selection is of an interface or a union, it is a union of objects told apart by
 * `__typename`.
 *
 * Throws where an operation does not fit the schema.
 */
export function typesOf(schema: GraphQLSchema, texts: string[]): string {
  const printer = new Printer(schema);
  for (const text of texts) printer.add(text);
  return printer.print();
}

class Printer {
  readonly #types = new Map<string, string>();
  #fragments = new Map<string, FragmentDefinitionNode>();

  constructor(readonly schema: GraphQLSchema) {}

  add(text: string): void {
    const document = parse(text);
    const errors = validate(this.schema, document);
    if (errors.length > 0) throw new Error(`${errors.join("\n")}\n${text}`);
    const fragments = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
    this.#fragments = new Map(fragments.map((node) => [node.name.value, node]));
    for (const node of fragments) this.#declare(node.name.value, this.#fragment(node));
    for (const node of document.definitions)
      if (node.kind === Kind.OPERATION_DEFINITION) this.#operation(node);
  }

  print(): string {
    const names = [...this.#types.keys()].sort();
    const types = names.map((name) => `\nexport type ${name} = ${this.#types.get(name)};\n`);
    return HEAD + types.join("");
  }

  #declare(name: string, text: string): void {
    const before = this.#types.get(name);
    if (before !== undefined && before !== text) throw new Error(`${name} is two different types`);
    this.#types.set(name, text);
  }

  #operation(node: OperationDefinitionNode): void {
    const kind = node.operation[0]?.toUpperCase() + node.operation.slice(1);
    const name = `${node.name?.value}${kind}`;
    const root = this.schema.getRootType(node.operation);
    if (!root) throw new Error(`no ${node.operation}`);
    this.#declare(name, this.#selection(root, node.selectionSet, "  "));
    const variables = (node.variableDefinitions ?? []).map(
      ({ variable, type }) =>
        `  ${variable.name.value}${type.kind === Kind.NON_NULL_TYPE ? "" : "?"}: ${this.#input(type)};\n`,
    );
    this.#declare(
      `${name}Variables`,
      variables.length ? `{\n${variables.join("")}}` : "Record<string, never>",
    );
  }

  #fragment(node: FragmentDefinitionNode): string {
    const type = this.schema.getType(node.typeCondition.name.value);
    if (!isCompositeType(type)) throw new Error(`${type} has no fields`);
    return this.#selection(type, node.selectionSet, "  ");
  }

  #selection(type: GraphQLCompositeType, set: SelectionSetNode, indent: string): string {
    const spread = set.selections.length === 1 ? set.selections[0] : undefined;
    if (spread?.kind === Kind.FRAGMENT_SPREAD) return spread.name.value;
    if (!isAbstractType(type)) return this.#object(type, set, indent);
    const kinds = this.schema
      .getPossibleTypes(type)
      .map((kind) => this.#object(kind, set, `${indent}  `));
    return [...new Set(kinds)].map((kind) => `\n${indent}| ${kind}`).join("");
  }

  #object(type: GraphQLObjectType, set: SelectionSetNode, indent: string): string {
    const fields = this.#fields(type, set).map((node) => {
      const name = node.name.value;
      if (name === "__typename") return `${indent}__typename: "${type.name}";\n`;
      const field = type.getFields()[name];
      if (!field) throw new Error(`${type.name} has no ${name}`);
      return `${indent}${node.alias?.value ?? name}: ${this.#output(field.type, node, indent)};\n`;
    });
    return `{\n${[...new Set(fields)].join("")}${indent.slice(2)}}`;
  }

  #fields(type: GraphQLObjectType, set: SelectionSetNode): FieldNode[] {
    return set.selections.flatMap((node) => {
      if (node.kind === Kind.FIELD) return [node];
      const found =
        node.kind === Kind.INLINE_FRAGMENT ? node : this.#fragments.get(node.name.value);
      if (!found?.typeCondition) throw new Error("a fragment without a type");
      const on = this.schema.getType(found.typeCondition.name.value);
      const applies = on === type || (isAbstractType(on) && this.schema.isSubType(on, type));
      return applies ? this.#fields(type, found.selectionSet) : [];
    });
  }

  #output(type: GraphQLOutputType, node: FieldNode, indent: string): string {
    if (!isNonNullType(type)) return `${this.#present(type, node, indent)} | null`;
    return this.#present(type.ofType, node, indent);
  }

  #present(type: GraphQLOutputType, node: FieldNode, indent: string): string {
    if (isListType(type)) return `Array<${this.#output(type.ofType, node, indent)}>`;
    const named = getNamedType(type);
    if (isCompositeType(named) && node.selectionSet)
      return this.#selection(named, node.selectionSet, `${indent}  `);
    return this.#name(named);
  }

  #input(node: TypeNode): string {
    if (node.kind === Kind.NON_NULL_TYPE) return this.#inputPresent(node.type);
    return `${this.#inputPresent(node)} | null`;
  }

  #inputPresent(node: Exclude<TypeNode, { kind: Kind.NON_NULL_TYPE }>): string {
    if (node.kind === Kind.LIST_TYPE) return `Array<${this.#input(node.type)}>`;
    const type = typeFromAST(this.schema, node);
    if (!type) throw new Error(`no type ${node.name.value}`);
    return this.#name(type);
  }

  /** The TypeScript name of a leaf or of an input object, which is declared where it was not yet. */
  #name(type: GraphQLNamedType): string {
    const scalar = SCALARS[type.name];
    if (scalar !== undefined) return scalar;
    if (isEnumType(type)) {
      this.#declare(
        type.name,
        type
          .getValues()
          .map((value) => `"${value.name}"`)
          .join(" | "),
      );
    } else if (isInputObjectType(type) && !this.#types.has(type.name)) {
      this.#types.set(type.name, "");
      const fields = Object.values(type.getFields()).map((field) => {
        const optional = !isNonNullType(field.type) || field.defaultValue !== undefined;
        return `  ${field.name}${optional ? "?" : ""}: ${this.#inputOf(field.type)};\n`;
      });
      this.#types.set(type.name, `{\n${fields.join("")}}`);
    } else if (isObjectType(type)) throw new Error(`${type.name} needs a selection`);
    return type.name;
  }

  #inputOf(type: unknown): string {
    if (isNonNullType(type)) return this.#inputOf(type.ofType).replace(/ \| null$/, "");
    if (isListType(type)) return `Array<${this.#inputOf(type.ofType)}> | null`;
    return `${this.#name(type as GraphQLNamedType)} | null`;
  }
}

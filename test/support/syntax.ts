import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "rolldown/experimental";

/** A node of ESTree's syntax tree, with the fields that are asked for by name. */
export interface Syntax {
  readonly type: string;
  readonly start: number;
  // biome-ignore lint/suspicious/noExplicitAny: each type of node has other fields
  readonly [field: string]: any;
}

/** A source file with what others refer to by name. */
export class SourceFile {
  readonly functions = new Map<string, Syntax[]>();
  readonly calls = new Map<string, Syntax[]>();
  readonly objects: Syntax[] = [];
  readonly assignments: Syntax[] = [];
  readonly variables: Syntax[] = [];
  /** local name -> file and name */
  readonly imports = new Map<string, { readonly path: string; readonly name: string }>();
  readonly #parents = new Map<Syntax, Syntax | undefined>();

  constructor(readonly path: string) {
    this.#visit(parseSync(path, readFileSync(path, "utf8")).program, undefined);
  }

  parentOf(node: Syntax): Syntax | undefined {
    return this.#parents.get(node);
  }

  #visit(value: unknown, parent: Syntax | undefined): void {
    if (Array.isArray(value)) for (const one of value) this.#visit(one, parent);
    if (typeof value !== "object" || value === null || !("type" in value)) return;
    const node = value as Syntax;
    this.#parents.set(node, parent);
    this.#index(node);
    for (const child of Object.values(node)) if (typeof child === "object") this.#visit(child, node);
  }

  #index(node: Syntax): void {
    const isFunction = (one?: Syntax) => /Function/.test(one?.type ?? "");
    if (node.type === "FunctionDeclaration") add(this.functions, node["id"]?.name, node);
    if (node.type === "MethodDefinition") add(this.functions, node["key"].name, node["value"]);
    if (node.type === "PropertyDefinition" && isFunction(node["value"]))
      add(this.functions, node["key"].name, node["value"]);
    if (node.type === "VariableDeclarator") this.variables.push(node);
    if (node.type === "VariableDeclarator" && isFunction(node["init"]))
      add(this.functions, node["id"].name, node["init"]);
    if (node.type === "AssignmentExpression") this.assignments.push(node);
    if (node.type === "CallExpression" || node.type === "NewExpression") add(this.calls, calleeOf(node), node);
    if (node.type === "ObjectExpression") this.objects.push(node);
    if (node.type !== "ImportDeclaration" || !node["source"].value.startsWith(".")) return;
    const path = join(dirname(this.path), node["source"].value.replace(/\.js$/, ".ts"));
    for (const { local, imported } of node["specifiers"]) {
      if (imported !== undefined) this.imports.set(local.name, { path, name: imported.name });
    }
  }
}

function add(map: Map<string, Syntax[]>, name: string | undefined, node: Syntax): void {
  if (name !== undefined) map.set(name, [...(map.get(name) ?? []), node]);
}

/** The name of what a call calls: `f` of `f()`, `this.f()` and `x?.f()`. */
export function calleeOf({ callee }: Syntax): string | undefined {
  if (callee.type === "Identifier") return callee.name;
  return callee.type === "ChainExpression" ? calleeOf({ ...callee, callee: callee.expression }) : callee.property?.name;
}

/** What a function returns: its expression, or those of its own `return` statements. */
export function returnsOf({ body }: Syntax): Syntax[] {
  if (body?.type !== "BlockStatement") return body == null ? [] : [body];
  const found: Syntax[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (typeof value !== "object" || value === null || /Function/.test((value as Syntax).type ?? "")) return;
    const node = value as Syntax;
    if (node.type === "ReturnStatement" && node["argument"] !== null) found.push(node["argument"]);
    for (const child of Object.values(node)) if (typeof child === "object") visit(child);
  };
  visit(body);
  return found;
}

/** The properties of an object literal by name. */
export function fieldsOf(object: Syntax): ReadonlyMap<string, Syntax> {
  const own = object["properties"].filter(({ type }: Syntax) => type === "Property");
  return new Map(own.map(({ key, value }: Syntax) => [key.name, value]));
}

/** The name of a parameter: with its default, or a parameter property. */
export function nameOfParameter(node: Syntax): string | undefined {
  if (node.type === "TSParameterProperty") return nameOfParameter(node["parameter"]);
  return node.type === "AssignmentPattern" ? nameOfParameter(node["left"]) : node["name"];
}

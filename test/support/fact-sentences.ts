import { dirname } from "node:path";
import { calleeOf, fieldsOf, nameOfParameter, returnsOf, SourceFile, type Syntax } from "./syntax.js";

/** The fields of facts that hold sentences, by kind. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  decision: ["what", "why"],
  state: ["subject", "what", "from", "to"],
  note: ["text"],
  step: ["title"],
  table: ["title", "columns"],
  request: ["failure"],
  frame: ["note"],
};
/** Fields of other objects that become fields of facts. */
const PASSED_ON = new Set(["what", "why", "text", "cause", "because", "title", "when"]);
const MAX_DEPTH = 9;
const MAX_ALTERNATIVES = 32;
/** A part of a sentence: a text, or a value (undefined). */
type Part = string | undefined;

/**
 * Finds the sentences of facts in the source: the texts in the fields of facts, and those that reach them through variables,
 * parameters and functions. `{1}`, `{2}` stand for values. What it cannot follow is missing.
 */
export class FactSentences {
  readonly #files: ReadonlyMap<string, SourceFile>;
  /** sentence -> file */
  readonly found = new Map<string, string>();
  readonly #seen = new Set<Syntax>();

  constructor(paths: readonly string[]) {
    this.#files = new Map(paths.map((path) => [path, new SourceFile(path)]));
    for (const file of this.#files.values()) this.#search(file);
  }

  #search(file: SourceFile): void {
    for (const object of file.objects) {
      const fields = fieldsOf(object);
      for (const name of FIELDS[kindOf(fields)] ?? []) this.#follow(fields.get(name), file, 0);
      // A result with sentences, see CommandResult.
      if (fields.has("isProse")) this.#follow(fields.get("text"), file, 0);
      // A key of a window: its label is a cell of the table of keys.
      if (fields.has("short")) this.#follow(fields.get("label"), file, 0);
    }
    for (const { arguments: given } of file.calls.get("say") ?? []) this.#follow(given[0], file, 0);
    for (const { arguments: given } of file.calls.get("step") ?? []) {
      if (given.length >= 3) this.#follow(given[1], file, 0);
    }
  }

  #add(sentence: string, file: SourceFile): void {
    // A single word is a name, a phase or a verb of the API.
    for (const line of sentence.split("\n").map((one) => one.trim())) {
      if (/[a-z]{2}/i.test(line.replace(/\{\d+\}/g, "")) && line.includes(" ")) this.found.set(line, file.path);
    }
  }

  #follow(node: Syntax | null | undefined, file: SourceFile, depth: number): void {
    if (node == null || depth > MAX_DEPTH || this.#seen.has(node)) return;
    this.#seen.add(node);
    switch (node.type) {
      case "Identifier":
        this.#variable(node, file, depth);
        return;
      case "MemberExpression":
        this.#member(node["property"]?.name, file, depth);
        return;
      case "CallExpression":
        this.#call(node, file, depth);
        return;
      case "ChainExpression":
        this.#follow(node["expression"], file, depth);
        return;
      case "ArrayExpression":
        for (const one of node["elements"]) this.#follow(one?.argument ?? one, file, depth + 1);
        return;
      case "ObjectExpression":
      case "ArrowFunctionExpression":
      case "TaggedTemplateExpression":
        return;
      default:
        for (const parts of this.#alternatives(node, file, depth)) this.#add(templateOf(parts), file);
    }
  }

  /** The texts that an expression can have. */
  #alternatives(node: Syntax, file: SourceFile, depth: number): Part[][] {
    const both = (a: Syntax, b: Syntax) => [a, b].flatMap((one) => this.#alternatives(one, file, depth));
    switch (node.type) {
      case "Literal":
        return typeof node["value"] === "string" ? [[node["value"]]] : [[undefined]];
      case "TSAsExpression":
      case "ParenthesizedExpression":
      case "TSNonNullExpression":
        return this.#alternatives(node["expression"], file, depth);
      case "AwaitExpression":
        return this.#alternatives(node["argument"], file, depth);
      case "ConditionalExpression":
        return both(node["consequent"], node["alternate"]);
      case "LogicalExpression":
        return both(node["left"], node["right"]);
      case "BinaryExpression":
        return inARow([node["left"], node["right"]].map((one) => this.#alternatives(one, file, depth)));
      case "TemplateLiteral":
        return inARow(
          node["quasis"].flatMap(({ value }: Syntax, i: number) => {
            const inner = node["expressions"][i];
            return [[[value.cooked]], ...(inner === undefined ? [] : [this.#inner(inner, file, depth + 1)])];
          }),
        );
      default:
        this.#follow(node, file, depth + 1);
        return [[undefined]];
    }
  }

  /** What stands in `${...}`: its alternatives if they are texts, else a value, which is followed by itself. */
  #inner(node: Syntax, file: SourceFile, depth: number): Part[][] {
    if (["ConditionalExpression", "TemplateLiteral", "Literal", "ParenthesizedExpression"].includes(node.type)) {
      return this.#alternatives(node, file, depth);
    }
    const choice = node.type === "Identifier" ? declarationOf(node, file)?.["init"] : undefined;
    if (choice?.type === "ConditionalExpression") {
      const parts = this.#alternatives(choice, file, depth);
      // `${ending}` with `, and more` or nothing
      if (parts.some(([first]) => first === "" || /^[ ,;:(]/.test(first ?? ""))) return parts;
    }
    this.#follow(node, file, depth);
    return [[undefined]];
  }

  #variable(node: Syntax, file: SourceFile, depth: number): void {
    const found = declarationOf(node, file);
    if (found !== undefined) {
      this.#declared(found, node, file, depth);
      return;
    }
    for (const { type, left, right } of ancestors(node, file)) {
      const id = type === "ForOfStatement" ? left.declarations?.[0]?.id : undefined;
      if (id === undefined || !declares(id, node["name"])) continue;
      if (id.type === "Identifier") this.#follow(right, file, depth + 1);
      else this.#member(fieldNamed(id, node["name"]), file, depth);
      return;
    }
    for (const one of ancestors(node, file).filter(({ type }) => /Function/.test(type))) {
      for (const [at, parameter] of one["params"].entries()) {
        if (nameOfParameter(parameter) === node["name"]) {
          this.#callers(one, file, at, undefined, depth);
          return;
        }
        const field = fieldNamed(parameter["left"] ?? parameter, node["name"]);
        if (field !== undefined) {
          this.#callers(one, file, at, field, depth);
          return;
        }
      }
    }
    const imported = file.imports.get(node["name"]);
    const other = this.#files.get(imported?.path ?? "");
    const variable = other?.variables.find(({ id }) => id.name === imported?.name);
    if (other !== undefined) this.#follow(variable?.["init"], other, depth + 1);
  }

  #declared({ id, init }: Syntax, node: Syntax, file: SourceFile, depth: number): void {
    if (id.type === "Identifier") {
      if (init !== null) {
        this.#follow(init, file, depth + 1);
        return;
      }
      for (const { left, right } of file.assignments) {
        if (left.name === node["name"]) this.#follow(right, file, depth + 1);
      }
      return;
    }
    const call = init?.argument ?? init;
    const key = fieldNamed(id, node["name"]);
    if (call?.type !== "CallExpression") {
      this.#member(key, file, depth);
      return;
    }
    const at = id.elements?.findIndex((one: Syntax | null) => one !== null && nameOfParameter(one) === node["name"]);
    for (const [returned, other] of this.#returned(call, file)) {
      for (const one of returned.type === "ConditionalExpression"
        ? [returned["consequent"], returned["alternate"]]
        : [returned]) {
        if (one.type === "ArrayExpression" && at !== undefined) this.#follow(one.elements[at], other, depth + 1);
        else if (key !== undefined) this.#field(one, key, other, depth + 1);
      }
    }
  }

  #field(node: Syntax, key: string, file: SourceFile, depth: number): void {
    if (node.type === "ObjectExpression") this.#follow(fieldsOf(node).get(key), file, depth);
    else this.#member(key, file, depth);
  }

  /** `x.why`: every object of the folder with this field. */
  #member(key: string | undefined, file: SourceFile, depth: number): void {
    if (key === undefined || !PASSED_ON.has(key)) return;
    for (const other of this.#files.values()) {
      if (dirname(other.path) !== dirname(file.path)) continue;
      for (const object of other.objects) this.#follow(fieldsOf(object).get(key), other, depth + 1);
    }
  }

  #call(node: Syntax, file: SourceFile, depth: number): void {
    const name = calleeOf(node);
    const [first, second, third] = node["arguments"];
    if (name === "counted") {
      if (second?.type !== "Literal") return;
      for (const ending of ["", third?.value ?? "s"]) this.#add(`{1} ${second.value}${ending}`, file);
    } else if (name !== undefined && PASSES.has(name) && node["callee"].object !== undefined) {
      this.#follow(node["callee"].object, file, depth + 1);
    } else if ((name === "map" || name === "flatMap") && /Function/.test(first?.type ?? "")) {
      for (const one of returnsOf(first)) this.#follow(one, file, depth + 1);
    } else {
      for (const [one, other] of this.#returned(node, file)) this.#follow(one, other, depth + 1);
    }
  }

  /** What the called function returns. */
  #returned(call: Syntax, file: SourceFile): [Syntax, SourceFile][] {
    const name = calleeOf(call) ?? "";
    const imported = file.imports.get(name);
    const other = this.#files.get(imported?.path ?? "");
    const own = file.functions.get(name);
    if (own !== undefined) return own.flatMap(returnsOf).map((one) => [one, file]);
    if (other !== undefined)
      return (other.functions.get(imported?.name ?? "") ?? []).flatMap(returnsOf).map((one) => [one, other]);
    if (call["callee"].type === "Identifier") return [];
    // A method of another class, if only one has this name.
    const all = [...this.#files.values()].filter((one) => one.functions.has(name));
    const [only] = all;
    if (only === undefined || all.length > 1) return [];
    return (only.functions.get(name) ?? []).flatMap(returnsOf).map((one) => [one, only]);
  }

  /** The arguments of all calls of a function. @param key the field of an argument that is an object */
  #callers(called: Syntax, file: SourceFile, at: number, key: string | undefined, depth: number): void {
    const parent = file.parentOf(called);
    const own = called["id"]?.name ?? parent?.["key"]?.name ?? parent?.["id"]?.name;
    const name =
      own === "constructor"
        ? ancestors(called, file).find(({ type }) => type === "ClassDeclaration")?.["id"].name
        : own;
    if (name === undefined) return;
    const isPrivate = parent?.["key"]?.type === "PrivateIdentifier";
    for (const other of isPrivate ? [file] : this.#files.values()) {
      for (const { callee, arguments: given } of other.calls.get(name) ?? []) {
        if (other !== file && callee.type === "Identifier" && other.imports.get(callee.name)?.path !== file.path)
          continue;
        if (given[at] === undefined) continue;
        if (key === undefined) this.#follow(given[at], other, depth + 1);
        else this.#field(given[at], key, other, depth + 1);
      }
    }
  }
}

/** The kind of a fact, also of one whose kind is added later. */
function kindOf(fields: ReadonlyMap<string, Syntax>): string {
  const kind = fields.get("kind")?.["value"];
  if (typeof kind === "string") return kind;
  if (fields.has("what") && fields.has("why")) return "decision";
  return fields.has("subject") && fields.has("to") ? "state" : "";
}

/** Methods of lists and texts that keep the texts. */
const PASSES = new Set(["join", "trim", "slice", "flat", "filter", "toSorted", "concat"]);

function* enclosing(node: Syntax, file: SourceFile): Generator<Syntax> {
  for (let one = file.parentOf(node); one !== undefined; one = file.parentOf(one)) yield one;
}

function ancestors(node: Syntax, file: SourceFile): Syntax[] {
  return [...enclosing(node, file)];
}

/** The declaration of a variable in the blocks around it. */
function declarationOf(node: Syntax, file: SourceFile): Syntax | undefined {
  for (const block of enclosing(node, file)) {
    const body: Syntax[] = block.type === "SwitchCase" ? block["consequent"] : (block["body"] ?? []);
    if (!Array.isArray(body)) continue;
    for (const statement of body) {
      const { type, declarations } = statement["declaration"] ?? statement;
      if (type !== "VariableDeclaration") continue;
      for (const one of declarations) if (declares(one.id, node["name"])) return one;
    }
  }
  return undefined;
}

function declares(id: Syntax, name: string): boolean {
  if (id.type === "Identifier") return id["name"] === name;
  const isInArray = id["elements"]?.some((one: Syntax | null) => one !== null && nameOfParameter(one) === name);
  return isInArray === true || fieldNamed(id, name) !== undefined;
}

/** The field that a pattern `{ key: name }` takes. */
function fieldNamed(pattern: Syntax, name: string): string | undefined {
  if (pattern.type !== "ObjectPattern") return undefined;
  return pattern["properties"].find(({ value }: Syntax) => value != null && nameOfParameter(value) === name)?.key.name;
}

function inARow(lists: readonly Part[][][]): Part[][] {
  return lists.reduce<Part[][]>(
    (all, list) => all.flatMap((one) => list.map((next) => [...one, ...next])).slice(0, MAX_ALTERNATIVES),
    [[]],
  );
}

function templateOf(parts: readonly Part[]): string {
  let values = 0;
  return parts.map((part) => part ?? `{${++values}}`).join("");
}

import { MessageError } from "../../../util/i18n/message-error.js";
import { isRecord, isSet } from "../../../util/records.js";
import { goMapJson } from "../../apimachinery/go-map-json.js";
import { goInterfaceType } from "../../apimachinery/scheme/go-text.js";
import { JsonPathError, type JsonPathList, type JsonPathNode, parseJsonPath } from "./parser.js";

/**
 * Evaluates kubectl's JSONPath: text, `{.a.b}`, `{.a[0]}`, `{.a[1:3]}`, `{.a[*].b}`, `{..b}`, `{.a['b.c']}`, `{.a['b','c']}`,
 * `{.a[?(@.type=="Ready")].status}`, `{range .items[*]}...{"\n"}{end}`. Missing keys are empty.
 *
 * Mirrors k8s.io/client-go/util/jsonpath/jsonpath.go (FindResults, PrintResults). Differs: keys of maps are in order.
 * @throws LabError USAGE with upstream's reason
 */
export function executeJsonPath(template: string, root: unknown): string {
  try {
    return execute(template, root);
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    const message = `error parsing jsonpath ${template}, ${error.message}`;
    throw new MessageError("USAGE", { verbatim: message }, ["jsonPathHint"], { cause: error });
  }
}

/**
 * The values that one expression finds: `.metadata.name`, also without its dot or in braces.
 * As kubectl reads the columns of a user (RelaxedJSONPathExpression).
 */
export function findValues(expression: string, root: unknown): readonly unknown[] {
  const path = expression.replace(/^\{|\}$/g, "").replace(/^(?=[^.[])/, ".");
  return compileJsonPath(path)(root);
}

/** The values that an expression without braces finds, for many objects. @throws JsonPathError */
export function compileJsonPath(path: string): (root: unknown) => readonly unknown[] {
  const lists = parseJsonPath(`{${path}}`);
  return (root) => lists.flatMap((list) => evaluate(list, [root]));
}

function execute(template: string, root: unknown): string {
  const lists = parseJsonPath(template);
  const run = (from: number, to: number, current: unknown): string => {
    let out = "";
    for (let at = from; at < to; at++) {
      const list = lists[at] ?? [];
      if (isIdentifier(list, "end")) throw new JsonPathError("not in range, nothing to end");
      const isRange = isIdentifier(list, "range");
      const results = evaluate(isRange ? list.slice(1) : list, [current]);
      if (!isRange) {
        out += results.map(printed).join(" ");
        continue;
      }
      const end = endOf(lists, at, to);
      for (const result of results) out += run(at + 1, end, result);
      at = end;
    }
    return out;
  };
  return run(0, lists.length, root);
}

const isIdentifier = ([first]: JsonPathList, name: string): boolean =>
  first?.type === "identifier" && first.name === name;

/** The index of the `{end}` that belongs to the range at `at`; `to` without one. */
function endOf(lists: readonly JsonPathList[], at: number, to: number): number {
  let depth = 0;
  for (let i = at + 1; i < to; i++) {
    const list = lists[i] ?? [];
    if (isIdentifier(list, "range")) depth++;
    else if (isIdentifier(list, "end") && depth-- === 0) return i;
  }
  return to;
}

function evaluate(list: JsonPathList, values: readonly unknown[]): readonly unknown[] {
  return list.reduce((current, node) => step(node, current), values);
}

function step(node: JsonPathNode, values: readonly unknown[]): readonly unknown[] {
  switch (node.type) {
    case "text":
      return [node.text];
    case "value":
      return values.map(() => node.value);
    case "field":
      return values.flatMap((value) =>
        isRecord(value) && Object.hasOwn(value, node.name) && isSet(value[node.name]) ? [value[node.name]] : [],
      );
    case "wildcard":
      return values.flatMap(membersOf);
    case "recursive":
      return values.flatMap(descendants);
    case "union":
      return node.lists.flatMap((one) => evaluate(one, values));
    case "slice":
      return values.filter(isSet).flatMap((value) => sliced(value, node));
    case "filter":
      return values.flatMap((value) => filtered(value, node));
    case "identifier":
      throw new JsonPathError(`unrecognized identifier ${node.name}`);
  }
}

const membersOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [];

/** A value and all nested values with members. Mirrors evalRecursive. */
function descendants(value: unknown): readonly unknown[] {
  const members = membersOf(value);
  return members.length === 0 ? [] : [value, ...members.flatMap(descendants)];
}

function sliced(value: unknown, slice: Extract<JsonPathNode, { type: "slice" }>): readonly unknown[] {
  if (!Array.isArray(value)) throw new JsonPathError(`${goInterfaceType(value)} is not array or slice`);
  const { length } = value;
  const absolute = (index: number) => (index < 0 ? index + length : index);
  const from = absolute(slice.from ?? 0);
  const to = absolute(slice.to ?? length);
  const { step: by = 1 } = slice;
  if (from === to) return [];
  const outside = (index: number) => new JsonPathError(`array index out of bounds: index ${index}, length ${length}`);
  if (from >= length || from < 0) throw outside(from);
  if (to > length || to < 0) throw outside(to - 1);
  if (from > to) throw new JsonPathError(`starting index ${from} is greater than ending index ${to}`);
  if (by <= 0) throw new JsonPathError("step must be > 0");
  return value.slice(from, to).filter((_, index) => index % by === 0);
}

function filtered(value: unknown, filter: Extract<JsonPathNode, { type: "filter" }>): readonly unknown[] {
  if (!Array.isArray(value)) {
    throw new JsonPathError(`${printed(value)} is not array or slice and cannot be filtered`);
  }
  return value.filter((item: unknown) => {
    const lefts = evaluate(filter.left, [item]);
    if (filter.operator === "exists") return lefts.length > 0;
    const rights = evaluate(filter.right, [item]);
    if (lefts.length === 0 || rights.length === 0) return false;
    if (lefts.length > 1 || rights.length > 1) throw new JsonPathError("can only compare one element at a time");
    return holds(lefts[0], filter.operator, rights[0]);
  });
}

function holds(left: unknown, operator: string, right: unknown): boolean {
  if (typeof left !== typeof right) throw new JsonPathError("incompatible types for comparison");
  const [a, b] = [left as string | number, right as string | number];
  switch (operator) {
    case "==":
      return a === b;
    case "!=":
      return a !== b;
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`);
  }
}

/** A value as PrintResults writes it. */
export const printed = (value: unknown): string => (typeof value === "object" ? goMapJson(value) : String(value));

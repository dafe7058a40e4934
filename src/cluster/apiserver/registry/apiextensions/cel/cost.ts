import type { ASTNode } from "@marcbachmann/cel-js";
import { itemsOf, valuesOf } from "../schema/structural.js";
import type { JsonSchema } from "../types.js";

/** The most that a rule, and all rules of a version, may cost. Mirrors StaticEstimatedCostLimit and StaticEstimatedCRDCostLimit. */
export const RULE_LIMIT = 10_000_000;
export const SCHEMA_LIMIT = 100_000_000;

/** The largest request, in bytes: it bounds what a schema does not bound. */
const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

/** A value as far as a rule's cost needs it. */
interface Sized {
  readonly schema?: JsonSchema;
  /** the most items, entries or characters */
  readonly size: number;
}

interface Estimate extends Sized {
  readonly cost: number;
}

/**
 * The most that an evaluation of a rule can cost: one for each step, times the length of what it walks.
 *
 * Mirrors github.com/google/cel-go/checker/cost.go with k8s.io/apiserver/pkg/cel/library/cost.go.
 * Differs: counts fewer kinds of steps, so the sums are near upstream's, not equal.
 */
export function estimateCost(ast: ASTNode, self: JsonSchema): number {
  const value: Sized = sizedOf(self);
  return estimate(
    ast,
    new Map([
      ["self", value],
      ["oldSelf", value],
    ]),
  ).cost;
}

/** How many values of a schema an object can have in a list or map of this schema. */
export function cardinalityOf(schema: JsonSchema): number {
  return sizedOf(schema).size;
}

function sizedOf(schema: JsonSchema): Sized {
  const { type, maxItems, maxProperties, maxLength, enum: values } = schema;
  const items = itemsOf(schema);
  const entries = valuesOf(schema);
  if (type === "array") return { schema, size: maxItems ?? boundOf(items, 1) };
  if (type === "object" && entries !== undefined) return { schema, size: maxProperties ?? boundOf(entries, 4) };
  if (type === "string") {
    const longest = values?.reduce<number>((most, one) => Math.max(most, String(one).length), 0);
    return { schema, size: longest ?? maxLength ?? (schema.format === undefined ? MAX_REQUEST_BYTES : 64) };
  }
  return { schema, size: 1 };
}

function boundOf(schema: JsonSchema | undefined, overhead: number): number {
  return Math.floor(MAX_REQUEST_BYTES / ((schema === undefined ? 1 : minBytes(schema)) + overhead));
}

/** Mirrors estimateMinSizeJSON in model/schemas.go. */
function minBytes(schema: JsonSchema): number {
  switch (schema.type) {
    case "boolean":
      return 4;
    case "integer":
    case "number":
      return 1;
    case "object": {
      const required = Object.entries(schema.properties ?? {}).filter(
        ([name]) => schema.required?.includes(name) === true,
      );
      return 2 + required.reduce((sum, [name, one]) => sum + name.length + 4 + minBytes(one), 0);
    }
    default:
      return 2;
  }
}

type Scope = ReadonlyMap<string, Sized>;

const MACROS = new Set(["all", "exists", "exists_one", "map", "filter"]);
/** What they do to each character of their receiver. */
const PER_CHARACTER = 0.1;

function estimate(node: ASTNode, scope: Scope): Estimate {
  const { op, args } = node as unknown as { op: string; args: unknown };
  const of = (one: unknown) => estimate(one as ASTNode, scope);
  const all = (many: readonly unknown[]) => many.map(of).reduce((sum, { cost }) => sum + cost, 0);
  switch (op) {
    case "value":
      return { cost: 0, size: typeof args === "string" ? args.length : 1 };
    case "id":
      return { ...(scope.get(args as string) ?? { size: 1 }), cost: 1 };
    case ".":
    case ".?": {
      const [target, name] = args as [unknown, string];
      const { cost, schema } = of(target);
      const field = schema?.properties?.[name] ?? (schema === undefined ? undefined : valuesOf(schema));
      return { ...(field === undefined ? { size: 1 } : sizedOf(field)), cost: cost + 1 };
    }
    case "[]":
    case "[?]": {
      const [target, index] = args as [unknown, unknown];
      const { cost, schema } = of(target);
      const item = schema === undefined ? undefined : (itemsOf(schema) ?? valuesOf(schema));
      return { ...(item === undefined ? { size: 1 } : sizedOf(item)), cost: cost + of(index).cost + 1 };
    }
    case "call": {
      const [name, values] = args as [string, readonly unknown[]];
      const sizes = values.map(of);
      const walked = name === "has" || name === "size" ? 0 : (sizes[0]?.size ?? 1) * PER_CHARACTER;
      return { cost: all(values) + 1 + walked, size: sizes[0]?.size ?? 1 };
    }
    case "rcall":
      return estimateMethod(args as [string, unknown, readonly unknown[]], scope);
    case "in": {
      const [value, list] = args as [unknown, unknown];
      const { cost, size } = of(list);
      return { cost: of(value).cost + cost + size, size: 1 };
    }
    default: {
      const many = Array.isArray(args) ? args.filter((one) => typeof one === "object" && one !== null).flat(2) : [args];
      const nodes = many.filter((one): one is ASTNode => typeof one === "object" && one !== null && "op" in one);
      const sizes = nodes.map(of);
      const longest = sizes.reduce((most, { size }) => Math.max(most, size), 1);
      const walked = ["==", "!=", "<", "<=", ">", ">=", "+"].includes(op)
        ? Math.min(...sizes.map(({ size }) => size), longest) * PER_CHARACTER
        : 0;
      return {
        cost: sizes.reduce((sum, { cost }) => sum + cost, 0) + 1 + walked,
        size: op === "+" ? longest * 2 : longest,
      };
    }
  }
}

function estimateMethod([name, target, values]: [string, unknown, readonly unknown[]], scope: Scope): Estimate {
  const receiver = estimate(target as ASTNode, scope);
  const [variable, ...bodies] = values as ASTNode[];
  if (MACROS.has(name) && variable !== undefined) {
    const { schema, size } = receiver;
    const items = schema === undefined ? undefined : itemsOf(schema);
    // The keys of a map, or the items of a list.
    const one = items === undefined ? { size: 64 } : sizedOf(items);
    const inner = new Map(scope).set(String((variable as unknown as { args: unknown }).args), one);
    const loop = bodies.reduce((sum, body) => sum + estimate(body, inner).cost, 0);
    return { ...receiver, cost: receiver.cost + size * (loop + 2) + 1 };
  }
  const others = values.map((value) => estimate(value as ASTNode, scope));
  const cost = receiver.cost + others.reduce((sum, one) => sum + one.cost, 0) + 1;
  if (name === "size") return { cost, size: 1 };
  const pattern = others[0]?.size ?? 1;
  const perCharacter = ["contains", "matchesRe2", "find", "findAll"].includes(name)
    ? Math.max(1, pattern * PER_CHARACTER)
    : 1;
  return { ...receiver, cost: cost + receiver.size * PER_CHARACTER * perCharacter };
}

/** Mirrors getCostErrorMessage. */
export function tooExpensive(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? "more than 100x" : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  const hint =
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared";
  return `${what} exceeds budget by factor of ${shown} (${hint})`;
}

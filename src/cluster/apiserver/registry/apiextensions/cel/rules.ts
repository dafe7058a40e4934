import type { Environment } from "@marcbachmann/cel-js";
import type { KubeObject } from "../../../../../staging/apimachinery/api/meta.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { goQuote } from "../../../../../staging/apimachinery/scheme/go-text.js";
import { messageOf } from "../../../../../util/errors.js";
import { isRecord } from "../../../../../util/records.js";
import { duplicate, forbidden, goValue, invalidValue, required } from "../../rest/field-errors.js";
import type { ValidateRules } from "../customresource/strategy.js";
import { itemsOf, valuesOf } from "../schema/structural.js";
import type { JsonSchema, ValidationRule } from "../types.js";
import { cardinalityOf, estimateCost, RULE_LIMIT, SCHEMA_LIMIT, tooExpensive } from "./cost.js";
import { baseEnvironment, withLinearMatches } from "./environment.js";
import { type CelType, celTypeOf } from "./types.js";

/**
 * The rules of a schema: `x-kubernetes-validations`.
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel (compilation.go, validation.go).
 */

type Program = ReturnType<Environment["parse"]>;

interface CompiledRule extends ValidationRule {
  readonly program: Program;
  readonly message_?: Program;
  /** Compares with the value before, so it holds for updates only. */
  readonly isTransition: boolean;
}

/** The rules of one schema, and the schemas below that have some. */
interface Node {
  readonly type: string;
  readonly rules: readonly CompiledRule[];
  readonly celType: CelType | undefined;
  readonly properties: ReadonlyMap<string, Node>;
  readonly items: Node | undefined;
  readonly values: Node | undefined;
  /** tell the items of a list of type map apart */
  readonly keys: readonly string[];
}

/** Compiles the rules of a valid schema; undefined if it has none. */
export function rulesOf(schema: JsonSchema): ValidateRules | undefined {
  const node = compileNode(schema, true);
  if (node === undefined) return undefined;
  return (object: KubeObject, old: KubeObject | undefined) => {
    const errors: FieldError[] = [];
    evaluateNode(node, object, old, "", errors);
    return errors;
  };
}

const RULES = "x-kubernetes-validations";

function compileNode(schema: JsonSchema, isRoot: boolean): Node | undefined {
  const below = (one: JsonSchema | undefined) => (one === undefined ? undefined : compileNode(one, false));
  const properties = new Map<string, Node>();
  for (const [name, one] of Object.entries(schema.properties ?? {})) {
    const node = compileNode(one, false);
    if (node !== undefined) properties.set(name, node);
  }
  const items = below(itemsOf(schema));
  const values = below(valuesOf(schema));
  const own = schema[RULES] ?? [];
  if (own.length === 0 && properties.size === 0 && items === undefined && values === undefined) return undefined;
  const language = own.length === 0 ? undefined : languageOf(schema, isRoot);
  const rules = language === undefined ? [] : own.map((rule) => compileRule(rule, language));
  const keys = schema["x-kubernetes-list-type"] === "map" ? (schema["x-kubernetes-list-map-keys"] ?? []) : [];
  return { type: schema.type ?? "", rules, celType: language?.self, properties, items, values, keys };
}

interface Language {
  readonly environment: Environment;
  readonly self: CelType;
}

function languageOf(schema: JsonSchema, isRoot: boolean): Language {
  const environment = baseEnvironment();
  const isResource = isRoot || schema["x-kubernetes-embedded-resource"] === true;
  const self = celTypeOf(schema, environment, { count: 0 }, isResource);
  environment.registerVariable("self", self.name).registerVariable("oldSelf", self.name);
  return { environment, self };
}

/** @throws the library's error */
function compileRule(rule: ValidationRule, { environment }: Language): CompiledRule {
  const program = environment.parse(withLinearMatches(rule.rule));
  const { messageExpression = "" } = rule;
  const message = messageExpression === "" ? {} : { message_: environment.parse(withLinearMatches(messageExpression)) };
  return { ...rule, program, ...message, isTransition: namesOldSelf(program.ast) };
}

function namesOldSelf(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(namesOldSelf);
  if (!isRecord(node)) return false;
  return (node["op"] === "id" && node["args"] === "oldSelf") || namesOldSelf(node["args"]);
}

function evaluateNode(node: Node, value: unknown, old: unknown, path: string, errors: FieldError[]): void {
  if (value === null || value === undefined) return;
  if (node.celType !== undefined) {
    const context = { self: node.celType.convert(value), oldSelf: node.celType.convert(old) };
    for (const rule of node.rules) {
      if (rule.isTransition && old === undefined) continue;
      const error = evaluateRule(rule, context, node.type, path);
      if (error !== undefined) errors.push(error);
    }
  }
  if (Array.isArray(value)) {
    if (node.items === undefined) return;
    const before = oldItems(old, node.keys);
    value.forEach((item, i) => {
      if (node.items !== undefined) evaluateNode(node.items, item, before(item), `${path}[${i}]`, errors);
    });
  } else if (isRecord(value)) {
    const was = isRecord(old) ? old : {};
    for (const [key, item] of Object.entries(value)) {
      const below = node.properties.get(key) ?? node.values;
      const at = node.properties.has(key) ? (path === "" ? key : `${path}.${key}`) : `${path}[${key}]`;
      if (below !== undefined) evaluateNode(below, item, Object.hasOwn(was, key) ? was[key] : undefined, at, errors);
    }
  }
}

/** The items of lists without keys cannot be found again. */
function oldItems(old: unknown, keys: readonly string[]): (item: unknown) => unknown {
  if (!Array.isArray(old) || keys.length === 0) return () => undefined;
  const keyOf = (item: unknown) => JSON.stringify(keys.map((key) => (isRecord(item) ? item[key] : undefined)));
  const byKey = new Map(old.map((item) => [keyOf(item), item]));
  return (item) => byKey.get(keyOf(item));
}

function evaluateRule(
  rule: CompiledRule,
  context: { readonly self: unknown; readonly oldSelf: unknown },
  type: string,
  path: string,
): FieldError | undefined {
  const text = rule.rule.trim();
  const place = path === "" ? "<nil>" : path;
  try {
    if (rule.program(context) === true) return undefined;
  } catch (error) {
    const why = firstLine(error);
    if (why.startsWith("no such overload")) {
      const told = `'${why}': call arguments did not match a supported operator, function or macro signature for rule: ${text}`;
      return invalidValue(place, type, told);
    }
    return invalidValue(place, type, `${why} evaluating rule: ${text}`);
  }
  const field =
    rule.fieldPath === undefined ? place : `${path}${path === "" ? rule.fieldPath.slice(1) : rule.fieldPath}`;
  return failure(rule, field, type, messageFor(rule, context) ?? `failed rule: ${text}`);
}

/** The rule's own expression, or its text. An expression that fails is as if it were not there. */
function messageFor({ message, message_: expression }: CompiledRule, context: object): string | undefined {
  if (expression === undefined) return message === undefined || message === "" ? undefined : message;
  try {
    const made: unknown = expression(context);
    if (typeof made === "string" && made.trim() !== "" && !/[\n\r]/.test(made) && made.length <= 5 * 1024) return made;
  } catch {
    // The message of the rule takes its place, as upstream.
  }
  return message === "" ? undefined : message;
}

function failure({ reason }: ValidationRule, field: string, type: string, message: string): FieldError {
  switch (reason) {
    case "FieldValueForbidden":
      return forbidden(field, message);
    case "FieldValueRequired":
      return required(field, message);
    case "FieldValueDuplicate":
      return duplicate(field, type, message);
    default:
      return invalidValue(field, type, message);
  }
}

function firstLine(error: unknown): string {
  return (messageOf(error).split("\n")[0] ?? "").trim();
}

/** Where a schema is, for the cost of its rules and the old values of transition rules. */
interface Place {
  /** how often an object can have it */
  readonly count: number;
  /** the list or map below which old values cannot be found */
  readonly uncorrelated: string | undefined;
}

/**
 * Compiles all rules of a schema, which is valid otherwise, and adds up what they can cost.
 *
 * Mirrors the end of ValidateCustomResourceDefinitionOpenAPISchema.
 */
export function validateRules(schema: JsonSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const costs: { readonly path: string; readonly cost: number }[] = [];
  visit(schema, path, { count: 1, uncorrelated: undefined }, true, errors, costs);
  const total = costs.reduce((sum, { cost }) => sum + cost, 0);
  if (total > SCHEMA_LIMIT) {
    const why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    const dearest = [...costs].sort((a, b) => b.cost - a.cost).slice(0, 4);
    errors.push(...dearest.map((one) => forbidden(one.path, why)));
    const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    errors.push(forbidden(path, tooExpensive(what, total, SCHEMA_LIMIT)));
  }
  return errors;
}

function visit(
  schema: JsonSchema,
  path: string,
  place: Place,
  isRoot: boolean,
  errors: FieldError[],
  costs: { readonly path: string; readonly cost: number }[],
): void {
  const own = schema[RULES] ?? [];
  if (own.length > 0) {
    const language = languageOf(schema, isRoot);
    own.forEach((rule, i) => {
      const at = `${path}.${RULES}[${i}]`;
      const cost = validateRule(rule, language, schema, at, place, errors);
      costs.push({ path: `${at}.rule`, cost });
    });
  }
  const into = (one: JsonSchema, at: string, where: Place) => visit(one, at, where, false, errors, costs);
  const items = itemsOf(schema);
  const values = valuesOf(schema);
  const count = place.count * (items === undefined && values === undefined ? 1 : cardinalityOf(schema));
  if (items !== undefined) {
    const isMap = schema["x-kubernetes-list-type"] === "map";
    into(items, `${path}.items`, { count, uncorrelated: isMap ? place.uncorrelated : path });
  }
  if (values !== undefined) into(values, `${path}.additionalProperties`, { ...place, count });
  const isAtomic = schema["x-kubernetes-map-type"] === "atomic";
  for (const [name, one] of Object.entries(schema.properties ?? {})) {
    into(one, `${path}.properties[${name}]`, isAtomic ? { ...place, uncorrelated: path } : place);
  }
}

/** @returns the most that the rule can cost for one object */
function validateRule(
  rule: ValidationRule,
  language: Language,
  schema: JsonSchema,
  path: string,
  { count, uncorrelated }: Place,
  errors: FieldError[],
): number {
  const shown = goValue(
    `apiextensions.ValidationRule{Rule:${goQuote(rule.rule)}, Message:${goQuote(rule.message ?? "")}}`,
  );
  let compiled: CompiledRule;
  try {
    compiled = compileRule(rule, language);
    const { valid, type, error } = compiled.program.check();
    if (!valid) throw error ?? new Error("it is not valid");
    if (type !== "bool" && type !== "dyn") {
      errors.push(invalidValue(`${path}.rule`, shown, "cel expression must evaluate to a bool"));
      return 0;
    }
  } catch (error) {
    errors.push(invalidValue(`${path}.rule`, shown, `compilation failed: ERROR: <input>: ${messageOf(error)}`));
    return 0;
  }
  if (rule.optionalOldSelf === true) {
    errors.push(forbidden(`${path}.optionalOldSelf`, "this embedded API server does not support optionalOldSelf"));
  }
  const message = compiled.message_?.check();
  if (message !== undefined && (!message.valid || (message.type !== "string" && message.type !== "dyn"))) {
    const why = message.valid
      ? "messageExpression must evaluate to a string"
      : `messageExpression compilation failed: ${messageOf(message.error)}`;
    errors.push(invalidValue(`${path}.messageExpression`, shown, why));
  }
  if (compiled.isTransition && uncorrelated !== undefined) {
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`;
    errors.push(invalidValue(`${path}.rule`, rule.rule, why));
  }
  const cost = estimateCost(compiled.program.ast, schema) * count;
  if (cost > RULE_LIMIT) errors.push(forbidden(`${path}.rule`, tooExpensive("estimated rule cost", cost, RULE_LIMIT)));
  return cost;
}

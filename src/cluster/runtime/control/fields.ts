import { z } from "zod";
import { nearest } from "../../../util/text/nearest.js";
import { BadRequest, shown, suggestion } from "./bad-request.js";

/** Schemas of the requests' fields, and the messages about fields that do not fit. */

/** Messages about a text; empty if it is valid, as in `apimachinery/api/names.ts`. */
type TextCheck = (text: string) => readonly string[];

/** A text that passes a check. */
export function checked(check: TextCheck) {
  return z.string().superRefine((given, context) => {
    const [message] = check(given);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });
}

/** A whole number from `min` to `max`. */
export function count(min: number, max: number) {
  return z.int().min(min).max(max);
}

/** A field of a route, as `GET /` describes it: its effect and its values. */
export function describeField(field: z.core.$ZodType): string {
  const required = isOptional(field) ? "" : ", required";
  return `${descriptionOf(field)}: ${expectedOf(field)}${required}`;
}

/**
 * Parses a text in the query: a number, a flag whose bare name is enough (`?oom`), or the text itself.
 * @throws BadRequest if the field can only be given in the body
 */
export function valueFromQuery(fields: z.ZodObject, name: string, text: string): unknown {
  const field = Object.hasOwn(fields.shape, name) ? unwrap(fields.shape[name]) : undefined;
  if (field instanceof z.ZodNumber) return /^-?\d+$/.test(text) ? Number(text) : text;
  if (field instanceof z.ZodBoolean) return text === "" || text === "true" ? true : text === "false" ? false : text;
  if (field === undefined || field instanceof z.ZodString || field instanceof z.ZodEnum) return text;
  throw new BadRequest(`${name} is ${expectedOf(field)}: it can be given in the body only`, name);
}

/** Checks the fields of a request. @param route for messages: `POST /pods` @throws BadRequest about the first problem */
export function readFields<S extends z.ZodObject>(fields: S, given: unknown, route: string): z.infer<S> {
  const result = fields.safeParse(given, { reportInput: true });
  if (result.success) return result.data;
  const { issues } = result.error;
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  throw issue === undefined ? new BadRequest("the fields are not valid") : badRequest(fields, issue, route);
}

function badRequest(fields: z.ZodObject, issue: z.core.$ZodIssue, route: string): BadRequest {
  const { field, path } = fieldAt(fields, issue.path);
  const refuse = (message: string) => new BadRequest(message, path);
  const { input } = issue;
  switch (issue.code) {
    case "unrecognized_keys":
      return unknownField(field, issue.keys[0] ?? "", path, route);
    case "invalid_value": {
      const like = typeof input === "string" ? nearest(issue.values.map(String), input) : undefined;
      return refuse(`${path} cannot be ${shown(input)}: ${suggestion(like)}expected ${expectedOf(field)}`);
    }
    case "invalid_key": {
      const { field: map, path: mapPath } = fieldAt(fields, issue.path.slice(0, -1));
      const message = issue.issues[0]?.message ?? `expected ${expectedOf(map)}`;
      return new BadRequest(`the key ${shown(input)} of ${mapPath} is not valid: ${message}`, mapPath);
    }
    case "custom":
      return refuse(`${path} ${shown(input)} is not valid: ${issue.message}`);
    default:
      if (input !== undefined) return refuse(`expected ${path} to be ${expectedOf(field)}, not ${shown(input)}`);
      return refuse(`${path} is missing: ${describeField(field)}`);
  }
}

function unknownField(fields: z.core.$ZodType, name: string, place: string, route: string): BadRequest {
  const owner = place === "" ? route : place;
  const path = place === "" ? name : `${place}.${name}`;
  const names = fields instanceof z.ZodObject ? Object.keys(fields.shape) : [];
  if (names.length === 0) return new BadRequest(`${owner} takes no fields, and was given ${shown(name)}`, path);
  const like = suggestion(nearest(names, name));
  return new BadRequest(`${owner} has no field ${shown(name)}: ${like}expected ${names.join(", ")}`, path);
}

/** The schema of a field, and its path in messages: `containers[0].env["A"]`. */
function fieldAt(fields: z.core.$ZodType, path: readonly PropertyKey[]): { field: z.core.$ZodType; path: string } {
  let field = fields;
  let text = "";
  for (const key of path) {
    const owner = unwrap(field);
    if (owner instanceof z.ZodArray) {
      field = owner.element;
      text += `[${String(key)}]`;
    } else if (owner instanceof z.ZodRecord) {
      field = owner.valueType;
      text += `[${shown(key)}]`;
    } else if (owner instanceof z.ZodObject) {
      field = owner.shape[String(key)] ?? field;
      text += text === "" ? String(key) : `.${String(key)}`;
    }
  }
  return { field, path: text };
}

function isOptional(field: z.core.$ZodType): boolean {
  return field instanceof z.ZodExactOptional;
}

function unwrap(field: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  return field instanceof z.ZodExactOptional ? field.unwrap() : field;
}

function descriptionOf(field: z.core.$ZodType): string {
  const inner = unwrap(field);
  return inner instanceof z.ZodType ? (inner.description ?? "") : "";
}

/** The values that a field takes, in words. */
function expectedOf(field: z.core.$ZodType): string {
  const inner = unwrap(field);
  if (inner instanceof z.ZodNumber) return `a whole number from ${inner.minValue} to ${inner.maxValue}`;
  if (inner instanceof z.ZodBoolean) return "true or false";
  if (inner instanceof z.ZodEnum) return `one of ${inner.options.join(", ")}`;
  if (inner instanceof z.ZodRecord) return "an object of texts";
  if (inner instanceof z.ZodArray)
    return inner.element instanceof z.ZodString ? "a list of texts" : "a list of objects";
  return inner instanceof z.ZodObject ? "an object" : "text";
}

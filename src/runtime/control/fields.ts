import { nearest } from "../../util/nearest.js";
import { BadRequest, suggestion } from "./bad-request.js";

/** A field of a request: what it is for, and what it may be. */
export interface Field<T, Needed extends boolean = boolean> {
  /** for people: what it does */
  readonly what: string;
  /** for people: `a whole number from 0` */
  readonly expected: string;
  readonly isNeeded: Needed;
  /** what is meant by a text in the query; none: it can be given in the body only */
  readonly fromText?: (text: string) => unknown;
  /** @param path `containers[0].image` @throws BadRequest */
  read(value: unknown, path: string): T;
}

/** All that a request, or an object in it, takes. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

type NeededIn<F extends Fields> = { [K in keyof F]: F[K]["isNeeded"] extends true ? K : never }[keyof F];
type ValueOf<F> = F extends Field<infer T> ? T : never;

/** What was given for such fields: what is not needed may be absent. */
export type Values<F extends Fields> = { readonly [K in NeededIn<F>]: ValueOf<F[K]> } & {
  readonly [K in Exclude<keyof F, NeededIn<F>>]?: ValueOf<F[K]>;
};

/** Messages about a text; none: it is good. As those of `api/names.ts`. */
export type TextCheck = (text: string) => readonly string[];

/** A field that must be there. */
export function needed<T>(field: Field<T>): Field<T, true> {
  return { ...field, isNeeded: true };
}

function field<T>(
  what: string,
  expected: string,
  parse: (value: unknown) => T | undefined,
  fromText?: (text: string) => unknown,
): Field<T, false> {
  const read = (value: unknown, path: string) => {
    const parsed = parse(value);
    if (parsed === undefined) throw new BadRequest(`expected ${path} to be ${expected}, not ${shown(value)}`, path);
    return parsed;
  };
  return { what, expected, isNeeded: false, read, ...(fromText === undefined ? {} : { fromText }) };
}

/** Any text that a check has nothing against. */
export function text(what: string, check: TextCheck = () => []): Field<string, false> {
  const any = field(what, "text", textOf, (given) => given);
  const read = (value: unknown, path: string) => {
    const given = any.read(value, path);
    const [message] = check(given);
    if (message === undefined) return given;
    throw new BadRequest(`${path} ${shown(given)} is not valid: ${message}`, path);
  };
  return { ...any, read };
}

/** A whole number of that range, both ends included. */
export function count(what: string, min: number, max: number): Field<number, false> {
  const fits = (value: unknown) =>
    typeof value === "number" && Number.isInteger(value) && value >= min && value <= max ? value : undefined;
  const fromText = (given: string) => (/^-?\d+$/.test(given) ? Number(given) : given);
  return field(what, `a whole number from ${min} to ${max}`, fits, fromText);
}

/** In the query, the bare name is enough: `?oom`. */
export function flag(what: string): Field<boolean, false> {
  const fromText = (given: string) => (given === "" || given === "true" ? true : given === "false" ? false : given);
  return field(what, "true or false", (value) => (typeof value === "boolean" ? value : undefined), fromText);
}

export function oneOf<T extends string>(what: string, values: readonly T[]): Field<T, false> {
  const expected = `one of ${values.join(", ")}`;
  const read = (value: unknown, path: string) => {
    const found = values.find((one) => one === value);
    if (found !== undefined) return found;
    const like = typeof value === "string" ? nearest(values, value) : undefined;
    throw new BadRequest(`${path} cannot be ${shown(value)}: ${suggestion(like)}expected ${expected}`, path);
  };
  return { what, expected, isNeeded: false, fromText: (given) => given, read };
}

export function texts(what: string): Field<readonly string[], false> {
  const fits = (value: unknown) => {
    const items: readonly unknown[] | undefined = Array.isArray(value) ? value : undefined;
    return items?.every((item) => typeof item === "string") === true ? (items as readonly string[]) : undefined;
  };
  return field(what, "a list of texts", fits);
}

/** An object whose keys and values are texts. */
export function textMap(
  what: string,
  checkKey: TextCheck,
  checkValue: TextCheck = () => [],
): Field<Readonly<Record<string, string>>, false> {
  const expected = "an object of texts";
  const any = field(what, expected, objectOf);
  const read = (value: unknown, path: string) => {
    const entries = Object.entries(any.read(value, path)).map(([key, item]) => {
      const [badKey] = checkKey(key);
      if (badKey !== undefined) throw new BadRequest(`the key ${shown(key)} of ${path} is not valid: ${badKey}`, path);
      return [key, text("", checkValue).read(item, `${path}[${shown(key)}]`)] as const;
    });
    return Object.fromEntries(entries);
  };
  return { ...any, read };
}

/** A list of objects that have such fields. */
export function listOf<F extends Fields>(what: string, fields: F): Field<readonly Values<F>[], false> {
  const any = field(what, "a list of objects", (value) =>
    Array.isArray(value) ? (value as readonly unknown[]) : undefined,
  );
  const read = (value: unknown, path: string) =>
    any.read(value, path).map((item, index) => {
      const place = `${path}[${index}]`;
      const given = objectOf(item);
      if (given === undefined) throw new BadRequest(`expected ${place} to be an object, not ${shown(item)}`, place);
      return readFields(fields, given, place, `${place}.`);
    });
  return { ...any, read };
}

/**
 * Reads all that was given, strictly: nothing that is not known, nothing that is needed left out.
 * @param whose what takes these fields: `POST /pods`, `containers[0]` @param prefix of their names in messages
 * @throws BadRequest
 */
export function readFields<F extends Fields>(
  fields: F,
  given: Readonly<Record<string, unknown>>,
  whose: string,
  prefix = "",
): Values<F> {
  const names = Object.keys(fields);
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name)) throw unknownField(names, name, whose, prefix);
  }
  const values: Record<string, unknown> = {};
  for (const [name, { isNeeded, expected, what, read }] of Object.entries(fields)) {
    const path = `${prefix}${name}`;
    if (Object.hasOwn(given, name)) values[name] = read(given[name], path);
    else if (isNeeded) throw new BadRequest(`${path} is missing: ${whose} needs it (${what}; ${expected})`, path);
  }
  return values as Values<F>;
}

function unknownField(names: readonly string[], name: string, whose: string, prefix: string): BadRequest {
  const path = `${prefix}${name}`;
  if (names.length === 0) return new BadRequest(`${whose} takes no fields, and was given ${shown(name)}`, path);
  const like = suggestion(nearest(names, name));
  return new BadRequest(`${whose} has no field ${shown(name)}: ${like}expected ${names.join(", ")}`, path);
}

const MAX_SHOWN = 60;

/** A value as JSON has it, cut where it is long. */
export function shown(value: unknown): string {
  const whole = JSON.stringify(value);
  return whole.length <= MAX_SHOWN ? whole : `${whole.slice(0, MAX_SHOWN)}...`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A JSON object; undefined for all else. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
}

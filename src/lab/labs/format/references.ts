import { isRecord } from "../../../util/records.js";

/** The names of steps and background commands whose output, end or exit code a definition refers to. Pure. */
export function outputsAskedFor(definition: unknown): string[] {
  const keys = ["output", "exit", "stop", "observe"];
  // Next to a command, `exit` is its expected exit code: a number, or `any`.
  return objectsIn(definition).flatMap(({ run, ...one }) =>
    keys.flatMap((key) => (typeof one[key] === "string" && (run === undefined || key !== "exit") ? [one[key]] : [])),
  );
}

/** The names of background commands. Pure. */
export function keptIn(definition: unknown): string[] {
  return objectsIn(definition).flatMap(({ keep, as }) =>
    typeof keep === "string" && typeof as === "string" ? [as] : [],
  );
}

export interface InjectionUse {
  readonly name: string;
  readonly given: Readonly<Record<string, unknown>>;
}

/** Pure. */
export function injectionsIn(definition: unknown): InjectionUse[] {
  return objectsIn(definition).flatMap(({ inject, with: given = {} }) =>
    typeof inject === "string" && isRecord(given) ? [{ name: inject, given }] : [],
  );
}

/** Every object in a part of a definition except the arguments of injections, which have their own keys. */
export function objectsIn(value: unknown): Readonly<Record<string, unknown>>[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  if (!isRecord(value)) return [];
  return [value, ...Object.entries(value).flatMap(([key, one]) => (key === "with" ? [] : objectsIn(one)))];
}

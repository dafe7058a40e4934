import { SeededRandom } from "../../../util/seeded-random.js";
import type { LabDefinition } from "./schema.js";

export type Values = Readonly<Record<string, string>>;

/** Chooses a value for each variable of a lab. The same seed gives the same values. */
export function chooseValues(lab: LabDefinition, seed: number): Values {
  const random = new SeededRandom(seed);
  const values: Record<string, string> = {};
  for (const [name, spec] of Object.entries(lab.vars)) {
    if ("oneOf" in spec) values[name] = spec.oneOf[Math.floor(random.float() * spec.oneOf.length)] ?? "";
    else values[name] = String(spec.between[0] + Math.floor(random.float() * (spec.between[1] - spec.between[0] + 1)));
  }
  return values;
}

/** Replaces `{{name}}` with values; a name without a value stays. */
export function fill(text: string, values: Values): string {
  return text.replace(
    /\{\{(\w+)\}\}/g,
    (whole, name: string) => (Object.hasOwn(values, name) ? values[name] : undefined) ?? whole,
  );
}

/** Replaces variables in every text of a structure. */
export function fillAll<T>(value: T, values: Values): T {
  return mapTexts(value, (text) => fill(text, values));
}

/** The same lab with renamed nodes: `node-1` becomes `<prefix>1` in all its texts and actions. Pure. */
export function withNodesNamed<T>(lab: T, prefix: string): T {
  return mapTexts(lab, (text) => text.replace(/(?<!\w)node-(?=\d\b)/g, prefix));
}

function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === "string") return change(value) as T;
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapTexts(one, change)])) as T;
}

import fieldTexts from "../../../fixtures/scheme/field-texts.json" with { type: "json" };
import type { Field, TypeSchema } from "../../apimachinery/scheme/schema.js";

const FIELD_TEXTS: Readonly<Record<string, string>> = fieldTexts;

/**
 * What a field is for: its own text in the table, or the text for fields of this name, which mostly mean the same in all
 * types. Those texts have a file of their own because only OpenAPI documents need them.
 */
export function fieldDescription({ name, description }: Field): string | undefined {
  return description ?? FIELD_TEXTS[name];
}

/** What a type is: its text in the table, or one made from its name: `DeploymentSpec` is the spec of a Deployment. */
export function typeDescription({ goName, description, isKind }: TypeSchema): string | undefined {
  if (description !== undefined || isKind) return description ?? `A ${goName}.`;
  const part = PARTS.find(([ending]) => goName.endsWith(ending) && goName.length > ending.length);
  return part === undefined ? undefined : part[1](goName.slice(0, -part[0].length));
}

const PARTS: readonly (readonly [ending: string, text: (of: string) => string])[] = [
  ["Spec", (of) => `How the ${of} is wanted.`],
  ["Status", (of) => `How the ${of} is, as its controller saw it last.`],
  ["Condition", (of) => `One thing that is so or not so about the ${of}, and since when.`],
  ["PersistentVolumeSource", (of) => `Where a persistent volume of ${of} is.`],
  ["VolumeSource", (of) => `Where a volume of ${of} is.`],
];

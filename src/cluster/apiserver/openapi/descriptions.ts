import fieldTexts from "../../../../fixtures/scheme/field-texts.json" with { type: "json" };
import type { Field, TypeSchema } from "../../../staging/apimachinery/scheme/schema.js";

const FIELD_TEXTS: Readonly<Record<string, string>> = fieldTexts;

/**
 * The description of a field: its own text in the table, or the common text for fields of this name, which usually mean
 * the same in all types. Only OpenAPI documents load the file of common texts.
 */
export function fieldDescription({ name, description }: Field): string | undefined {
  return description ?? FIELD_TEXTS[name];
}

/** The description of a type: its text in the table, or one derived from its name (`DeploymentSpec`). */
export function typeDescription({ goName, description, isKind }: TypeSchema): string | undefined {
  if (description !== undefined || isKind) return description ?? `A ${goName}.`;
  const part = PARTS.find(([ending]) => goName.endsWith(ending) && goName.length > ending.length);
  return part === undefined ? undefined : part[1](goName.slice(0, -part[0].length));
}

const PARTS: readonly (readonly [ending: string, text: (of: string) => string])[] = [
  ["Spec", (of) => `The desired state of the ${of}.`],
  ["Status", (of) => `The most recently observed state of the ${of}.`],
  ["Condition", (of) => `One aspect of the state of the ${of}, and when it last changed.`],
  ["PersistentVolumeSource", (of) => `The location of a persistent volume of ${of}.`],
  ["VolumeSource", (of) => `The location of a volume of ${of}.`],
];

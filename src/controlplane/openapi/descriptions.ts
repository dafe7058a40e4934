import type { Field, TypeSchema } from "../../apimachinery/scheme/schema.js";
import { CLUSTER_TEXTS } from "./cluster-texts.js";
import { OWN_TEXTS } from "./own-texts.js";
import { VOLUME_TEXTS } from "./volume-texts.js";
import { WORKLOAD_TEXTS } from "./workload-texts.js";

const FIELD_TEXTS = { ...VOLUME_TEXTS, ...WORKLOAD_TEXTS, ...CLUSTER_TEXTS };

/**
 * What a field is for, in our own words: as its type's table says; else as a text of its own says, for names that mean
 * something special in one type; else as the name says, which mostly means the same wherever it stands.
 *
 * They are here and not in the tables because only documents need them: a cluster that nobody asks to explain anything
 * never loads them.
 */
export function fieldDescription(schema: TypeSchema, { name, description }: Field): string | undefined {
  return description ?? OWN_TEXTS[`${schema.name}.${name}`] ?? FIELD_TEXTS[name];
}

/** What a type is, for those whose table does not say it: `DeploymentSpec` is the spec of a Deployment. */
export function typeDescription({ name, goName, description, isKind }: TypeSchema): string | undefined {
  if (description !== undefined) return description;
  const own = OWN_TEXTS[name];
  if (own !== undefined || isKind) return own ?? `A ${goName}.`;
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

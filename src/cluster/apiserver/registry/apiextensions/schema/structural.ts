import type { Definition, JsonSchema } from "../types.js";

/**
 * The parts of a schema that say which fields there are. Upstream makes a Structural of each schema; here its functions read
 * the schema itself, of which validation has proved that it is structural.
 */

/** What every object has beside the fields of its schema. */
export const META_FIELDS: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/** The schema of the items of a list. */
export function itemsOf({ items }: JsonSchema): JsonSchema | undefined {
  return Array.isArray(items) ? undefined : (items as JsonSchema | undefined);
}

/** The schema of the values of a map, if there is one. */
export function valuesOf({ additionalProperties }: JsonSchema): JsonSchema | undefined {
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/** The schema of a field of an object or a map. */
export function fieldOf(schema: JsonSchema, name: string): JsonSchema | undefined {
  const { properties } = schema;
  return properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : valuesOf(schema);
}

/** The schemas directly below, as structural schemas have them: not those that only check values. */
function childrenOf(schema: JsonSchema): readonly JsonSchema[] {
  const below = [itemsOf(schema), valuesOf(schema)].filter((one) => one !== undefined);
  return [...Object.values(schema.properties ?? {}), ...below];
}

/** Reports whether a schema or one below it has a property. */
export function someSchema(schema: JsonSchema, has: (one: JsonSchema) => boolean): boolean {
  return has(schema) || childrenOf(schema).some((one) => someSchema(one, has));
}

/** A schema as that of a whole object. */
export function asResource(schema: JsonSchema): JsonSchema {
  return { ...schema, "x-kubernetes-embedded-resource": true };
}

/** Reports whether a schema of a definition has rules. */
export function hasRules({ spec }: Definition): boolean {
  return spec.versions.some(({ schema }) => {
    const root = schema?.openAPIV3Schema;
    return root !== undefined && someSchema(root, (one) => one["x-kubernetes-validations"] !== undefined);
  });
}

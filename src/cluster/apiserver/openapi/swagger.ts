import { type OpenApiResource, openApiDocument } from "./document.js";
import type { OpenApiSchema } from "./schemas.js";

export interface Swagger {
  readonly swagger: string;
  readonly info: { readonly title: string; readonly version: string };
  /** path -> method -> operation */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiSchema>>>>;
  readonly definitions: Readonly<Record<string, OpenApiSchema>>;
}

/**
 * The OpenAPI v2 document of all resources: kubectl up to 1.26 explains and validates with it, and finds in it which
 * kinds support dry runs.
 *
 * Mirrors the output of k8s.io/kube-openapi/pkg/builder. Differs: derived from the v3 documents, so that both agree;
 * paths only have the parameters and extensions that clients look for, no bodies and no response schemas.
 */
export function swaggerDocument(
  resources: readonly OpenApiResource[],
  info: { readonly title: string; readonly version: string },
): Swagger {
  const groupVersions = new Map(resources.map(({ group, version }) => [`${group}/${version}`, { group, version }]));
  let paths: Swagger["paths"] = {};
  let definitions: Swagger["definitions"] = {};
  for (const { group, version } of groupVersions.values()) {
    const document = openApiDocument(group, version, resources);
    paths = { ...paths, ...mapValues(document.paths, (path) => mapValues(path, operation)) };
    definitions = { ...definitions, ...mapValues(document.components.schemas, schema) };
  }
  return { swagger: "2.0", info, paths: sorted(paths), definitions: sorted(definitions) };
}

interface Operation {
  readonly description: string;
  readonly parameters?: readonly { readonly name: string }[];
  readonly [extension: `x-${string}`]: unknown;
}

function operation(value: unknown): OpenApiSchema {
  const { description, parameters = [], ...rest } = value as Operation;
  const extensions = Object.entries(rest).filter(([key]) => key.startsWith("x-"));
  return {
    description,
    parameters: parameters.map(({ name }) => ({ name, in: "query", type: "string", uniqueItems: true })),
    responses: { 200: { description: "OK" } },
    ...Object.fromEntries(extensions),
  };
}

const V3_REFERENCE = "#/components/schemas/";

/**
 * In v2 a reference can have a description and needs no allOf; clients of v2 ignore defaults.
 * What they cannot read of custom kinds is left out. Mirrors ToStructuralOpenAPIV2 in
 * k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2/conversion.go.
 */
function schema(value: OpenApiSchema): OpenApiSchema {
  const { allOf, anyOf: _any, oneOf: _one, not: _not, default: _default, nullable, ...all } = value;
  const isOpen = nullable === true || all["x-kubernetes-preserve-unknown-fields"] === true;
  const { properties, items, additionalProperties, type, ...rest } = all;
  const [first] = (allOf ?? []) as readonly { readonly $ref?: string }[];
  const child = (one: unknown) => schema(one as OpenApiSchema);
  const isTyped = type !== undefined && !isOpen && (type !== "array" || items !== undefined);
  return {
    ...(isTyped ? { type } : {}),
    ...(typeof rest["$ref"] === "string" ? { ...rest, $ref: definitionOf(rest["$ref"]) } : rest),
    ...(first?.$ref === undefined ? {} : { $ref: definitionOf(first.$ref) }),
    ...(properties === undefined || isOpen ? {} : { properties: mapValues(properties as OpenApiSchema, child) }),
    ...(items === undefined || isOpen ? {} : { items: child(items) }),
    ...(typeof additionalProperties === "object" ? { additionalProperties: child(additionalProperties) } : {}),
  };
}

function definitionOf(reference: string): string {
  return `#/definitions/${reference.slice(V3_REFERENCE.length)}`;
}

function mapValues<T, R>(values: Readonly<Record<string, T>>, change: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}

function sorted<T>(values: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(values).sort(([left], [right]) => (left < right ? -1 : 1)));
}

import { type Definitions, Definitions as DefinitionsOfGroup, type OpenApiSchema, reference } from "./schemas.js";

/** The properties of a resource that a document needs. A `ResourceDefinition` is one. */
export interface OpenApiResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly schema: string;
  readonly custom?: { readonly schema: object };
  readonly listKind?: string;
  readonly isHidden?: boolean;
  readonly subresources?: readonly {
    readonly name: string;
    readonly verbs: readonly string[];
    readonly kind?: string;
  }[];
}

export interface OpenApiDocument extends OpenApiSchema {
  /** path -> method -> operation */
  readonly paths: Readonly<Record<string, OpenApiSchema>>;
  readonly components: { readonly schemas: Readonly<Record<string, OpenApiSchema>> };
}

/**
 * The OpenAPI v3 document of one group-version. `kubectl explain` reads it, and kubectl detects in it whether the server
 * validates fields itself (a PATCH with the parameter fieldValidation).
 *
 * Mirrors the output of k8s.io/kube-openapi/pkg/builder3.
 * Differs: no operation ids, no parameters that clients ignore, only responses with status 200.
 * @param resources all served resources; the function selects those of the group-version
 */
export function openApiDocument(
  group: string,
  version: string,
  resources: readonly OpenApiResource[],
  title = "Kubernetes",
): OpenApiDocument {
  const definitions = new DefinitionsOfGroup();
  const served = resources.filter(
    ({ isHidden, ...resource }) => isHidden !== true && resource.group === group && resource.version === version,
  );
  const paths: Record<string, OpenApiSchema> = {};
  for (const resource of served) addPaths(paths, resource, definitions);
  definitions.addType("DeleteOptions");
  definitions.addType("Status");
  return {
    openapi: "3.0.0",
    info: { title, version: "unversioned" },
    paths: Object.fromEntries(Object.entries(paths).sort(([left], [right]) => (left < right ? -1 : 1))),
    components: { schemas: definitions.all() },
  };
}

const OPERATIONS: Readonly<
  Record<string, { readonly method: string; readonly onItem: boolean; readonly action: string }>
> = {
  list: { method: "get", onItem: false, action: "list" },
  create: { method: "post", onItem: false, action: "post" },
  deletecollection: { method: "delete", onItem: false, action: "deletecollection" },
  get: { method: "get", onItem: true, action: "get" },
  update: { method: "put", onItem: true, action: "put" },
  patch: { method: "patch", onItem: true, action: "patch" },
  delete: { method: "delete", onItem: true, action: "delete" },
};

const PATCH_TYPES = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];

function addPaths(paths: Record<string, OpenApiSchema>, resource: OpenApiResource, definitions: Definitions): void {
  const { group, version, namespaced, verbs } = resource;
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const collection = `${root}/${namespaced ? "namespaces/{namespace}/" : ""}${resource.resource}`;
  const item = `${collection}/{name}`;
  const name = resource.custom === undefined ? definitions.addType(resource.schema) : definitions.addCustom(resource);
  const listName = verbs.includes("list") ? listOf(resource, name, definitions) : name;
  for (const verb of verbs) {
    const operation = OPERATIONS[verb];
    if (operation === undefined) continue;
    const path = operation.onItem ? item : collection;
    const answer = verb === "list" ? listName : name;
    paths[path] = { ...paths[path], [operation.method]: operationOf(resource, operation, answer) };
  }
  if (namespaced && verbs.includes("list")) {
    paths[`${root}/${resource.resource}`] = { get: operationOf(resource, OPERATIONS["list"], listName) };
  }
  for (const { name: subresource, verbs: subVerbs, kind } of resource.subresources ?? []) {
    // Only subresources of the same kind: clients do not need the schemas of others (binding, token).
    if (kind !== undefined && kind !== resource.kind) continue;
    const operations = subVerbs.flatMap((verb) => OPERATIONS[verb] ?? []).filter(({ onItem }) => onItem);
    const methods = operations.map((operation) => [operation.method, operationOf(resource, operation, name)]);
    if (methods.length > 0) paths[`${item}/${subresource}`] = Object.fromEntries(methods);
  }
}

function listOf(resource: OpenApiResource, name: string, definitions: Definitions): string {
  const { group, version, kind, custom, listKind = `${kind}List` } = resource;
  return custom === undefined
    ? definitions.addList(resource.schema)
    : definitions.addListOf(name, { group, version, kind, listKind });
}

function operationOf(
  { group, version, kind, resource, custom }: OpenApiResource,
  operation: (typeof OPERATIONS)[string] | undefined,
  answer: string,
): OpenApiSchema {
  const { method = "get", action = "get" } = operation ?? {};
  const isWrite = method !== "get" && method !== "delete";
  const names = [...(method === "get" ? [] : ["dryRun"]), ...(isWrite ? ["fieldManager", "fieldValidation"] : [])];
  const parameters = names.map((name) => ({ name, in: "query", schema: { type: "string", uniqueItems: true } }));
  const body = { schema: reference(answer) };
  const patchTypes = custom === undefined ? PATCH_TYPES : PATCH_TYPES.filter((type) => !type.includes("strategic"));
  const patchContent = Object.fromEntries(patchTypes.map((type) => [type, { schema: { type: "object" } }]));
  return {
    description: `${action} ${resource}`,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(isWrite ? { requestBody: { content: method === "patch" ? patchContent : { "application/json": body } } } : {}),
    responses: { 200: { description: "OK", content: { "application/json": body } } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group, kind, version },
  };
}

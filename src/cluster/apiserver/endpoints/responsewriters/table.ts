/**
 * Converts objects to tables (`kubectl get`) and to bare metadata.
 *
 * Mirrors k8s.io/apiserver/pkg/endpoints/handlers/response.go (doTransformObject, asTable, asPartialObjectMetadata).
 */
import type { KubeObject, ListMeta } from "../../../../staging/apimachinery/api/meta.js";
import { badRequest, type StatusError, statusError } from "../../../../staging/apimachinery/errors.js";
import type { ResourceDefinition, TableColumn, TableDefinition } from "../../registry/rest/definition.js";

export type IncludeObject = "None" | "Metadata" | "Object";

/** @throws StatusError 400 for an unknown value */
export function includeObjectOf(query: URLSearchParams): IncludeObject {
  const value = query.size === 0 ? null : query.get("includeObject");
  switch (value) {
    case null:
    case "":
    case "Metadata":
      return "Metadata";
    case "None":
    case "Object":
      return value;
    default:
      throw badRequest(
        `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
      );
  }
}

export interface TableOptions {
  /** `v1` or `v1beta1` of meta.k8s.io */
  readonly version: string;
  readonly nowMs: number;
  readonly include: IncludeObject;
  /** false: later events of a watch omit the columns */
  readonly withColumns: boolean;
}

export function tableOf(
  definition: ResourceDefinition,
  metadata: ListMeta,
  objects: readonly KubeObject[],
  options: TableOptions,
) {
  const table = definition.table ?? DEFAULT_TABLE;
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata,
    columnDefinitions: options.withColumns ? table.columns : null,
    rows: objects.map(rowsOf(definition, options)),
  };
}

/** Makes the row of an object. */
export function rowsOf({ table = DEFAULT_TABLE }: ResourceDefinition, options: TableOptions) {
  return (object: KubeObject) => rowOf(table, object, options);
}

function rowOf(table: TableDefinition, object: KubeObject, { include, nowMs, version }: TableOptions) {
  const conditions = table.conditions?.(object) ?? [];
  return {
    cells: table.cells(object, nowMs),
    ...(conditions.length === 0 ? {} : { conditions }),
    object: include === "None" ? null : include === "Object" ? object : partialOf(object, version),
  };
}

/** Unlike the items of other lists, those of a list of metadata have kind and apiVersion. */
export function partialOf(object: KubeObject, version: string) {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata };
}

export function notAList(what: string): StatusError {
  return statusError(
    406,
    "NotAcceptable",
    `you requested PartialObjectMetadataList, but the requested object is not a list (${what})`,
  );
}

export function isAList(what: string): StatusError {
  return statusError(
    406,
    "NotAcceptable",
    `you requested PartialObjectMetadata, but the requested object is a list (${what})`,
  );
}

const column = (name: string, type: TableColumn["type"], format: string, description: string): TableColumn => ({
  name,
  type,
  format,
  description,
  priority: 0,
});

/** For kinds without columns of their own. Mirrors k8s.io/apiserver/pkg/registry/rest/table.go (defaultTableConvertor). */
const DEFAULT_TABLE: TableDefinition = {
  columns: [
    column("Name", "string", "name", "The object's name, unique among its kind in its namespace."),
    column("Created At", "date", "", "When the server created the object."),
  ],
  cells: (object) => [object.metadata.name, object.metadata.creationTimestamp],
};

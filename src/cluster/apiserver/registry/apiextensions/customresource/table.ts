import { humanDuration } from "../../../../../staging/apimachinery/duration.js";
import { compileJsonPath, printed } from "../../../../../staging/client-go/jsonpath/jsonpath.js";
import { JsonPathError } from "../../../../../staging/client-go/jsonpath/parser.js";
import { isSet } from "../../../../../util/records.js";
import { NAME_COLUMN, timeMs } from "../../rest/cells.js";
import type { TableColumn, TableDefinition } from "../../rest/definition.js";
import type { PrinterColumn } from "../types.js";

/** For a version that names no columns. */
const AGE: PrinterColumn = {
  name: "Age",
  type: "date",
  description: "When the server created the object.",
  jsonPath: ".metadata.creationTimestamp",
};

/**
 * The columns of a version.
 *
 * Mirrors k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go.
 */
export function customTable(columns: readonly PrinterColumn[] = [AGE]): TableDefinition {
  const finders = columns.map(({ jsonPath }) => finderOf(jsonPath));
  return {
    columns: [NAME_COLUMN, ...columns.map(columnOf)],
    cells(object, nowMs) {
      const found = columns.map(({ type }, i) => cellOf(type, finders[i]?.(object), nowMs));
      return [object.metadata.name, ...found];
    },
  };
}

function columnOf({ name, type, format = "", description = "", priority = 0, jsonPath }: PrinterColumn): TableColumn {
  const told = description === "" ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : description;
  return { name, type: type as TableColumn["type"], format, description: told, priority };
}

/** Finds the first value of a path; a path that is not one finds nothing. */
function finderOf(jsonPath: string): (object: unknown) => unknown {
  const nothing = () => undefined;
  try {
    const find = compileJsonPath(jsonPath);
    return (object) => orNothing(() => find(object)[0]);
  } catch (error) {
    if (error instanceof JsonPathError) return nothing;
    throw error;
  }
}

function orNothing(find: () => unknown): unknown {
  try {
    return find();
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

/** Mirrors cellForJSONValue. */
function cellOf(type: string, value: unknown, nowMs: number): unknown {
  if (!isSet(value)) return null;
  switch (type) {
    case "string":
      return printed(value);
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? age(value, nowMs) : null;
    default:
      return null;
  }
}

function age(time: string, nowMs: number): string {
  const thenMs = timeMs(time);
  return thenMs === undefined ? "<invalid>" : humanDuration(nowMs - thenMs);
}

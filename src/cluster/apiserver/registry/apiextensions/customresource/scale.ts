import type { KubeObject } from "../../../../../staging/apimachinery/api/meta.js";
import type { Scale } from "../../../../../staging/apimachinery/api/objects.js";
import { type FieldError, internalError } from "../../../../../staging/apimachinery/errors.js";
import { isRecord } from "../../../../../util/records.js";
import type { ScaleView } from "../../rest/definition.js";
import { invalidValue } from "../../rest/field-errors.js";
import { scaleWith, wantedScale } from "../../rest/scale.js";
import { goLiteral } from "../schema/go-literal.js";
import type { ScalePaths } from "../types.js";

/**
 * The scale of a custom resource, whose parts the definition's paths find.
 *
 * Mirrors ScaleREST in k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go.
 */
export function customScale(paths: ScalePaths): ScaleView {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = "" } = paths;
  return {
    scaleOf(object): Scale {
      const count = valueAt(object, specReplicasPath);
      if (typeof count !== "number") {
        throw internalError(
          `Internal error occurred: the spec replicas field ${JSON.stringify(specReplicasPath)} does not exist`,
          "InternalError",
        );
      }
      const replicas = valueAt(object, statusReplicasPath);
      const selector = labelSelectorPath === "" ? undefined : valueAt(object, labelSelectorPath);
      return scaleWith(object, count, {
        replicas: typeof replicas === "number" ? replicas : 0,
        ...(typeof selector === "string" && selector !== "" ? { selector } : {}),
      });
    },
    withScale(current, scale) {
      const { replicas, metadata } = wantedScale(current, scale);
      const scaled = withValueAt(current, partsOf(specReplicasPath), replicas) as KubeObject;
      return { ...scaled, metadata };
    },
  };
}

/** Checks the parts of a scale in an object. Mirrors ValidateScaleSpec and ValidateScaleStatus in validator.go. */
export function validateScale(object: KubeObject, paths: ScalePaths, withSpec: boolean): FieldError[] {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = "" } = paths;
  const selector = labelSelectorPath === "" ? undefined : valueAt(object, labelSelectorPath);
  return [
    ...(withSpec ? validateCount(object, specReplicasPath) : []),
    ...validateCount(object, statusReplicasPath),
    ...(selector === undefined || typeof selector === "string"
      ? []
      : [invalidValue(labelSelectorPath, "", accessor(labelSelectorPath, selector, "string"))]),
  ];
}

const MAX_INT32 = 2 ** 31 - 1;

function validateCount(object: KubeObject, path: string): FieldError[] {
  const count = valueAt(object, path);
  if (count === undefined) return [];
  if (typeof count !== "number" || !Number.isInteger(count)) {
    return [invalidValue(path, 0, accessor(path, count, "int64"))];
  }
  if (count < 0) return [invalidValue(path, count, "should be a non-negative integer")];
  return count > MAX_INT32 ? [invalidValue(path, count, `should be less than or equal to ${MAX_INT32}`)] : [];
}

function accessor(path: string, value: unknown, wanted: string): string {
  const shown = goLiteral(value);
  const text = typeof shown === "object" && shown !== null ? shown.text : String(shown);
  return `${path.replace(/^(?=[^.])/, ".")} accessor error: ${text} is of the type ${goType(value)}, expected ${wanted}`;
}

function goType(value: unknown): string {
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "object" ? "map[string]interface {}" : typeof value === "boolean" ? "bool" : "string";
}

function partsOf(path: string): readonly string[] {
  return path.replace(/^\./, "").split(".");
}

function valueAt(object: unknown, path: string): unknown {
  return partsOf(path).reduce<unknown>(
    (value, part) => (isRecord(value) && Object.hasOwn(value, part) ? (value[part] ?? undefined) : undefined),
    object,
  );
}

function withValueAt(value: unknown, [part, ...rest]: readonly string[], leaf: unknown): unknown {
  if (part === undefined) return leaf;
  const map = isRecord(value) ? value : {};
  return { ...map, [part]: withValueAt(map[part], rest, leaf) };
}

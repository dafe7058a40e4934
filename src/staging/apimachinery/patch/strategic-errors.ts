import { goFormat, goInterfaceType } from "../scheme/go-text.js";

/** An invalid strategic merge patch. Mirrors k8s.io/apimachinery/pkg/util/mergepatch/errors.go. */
export class StrategicPatchError extends Error {
  override readonly name = "StrategicPatchError";
  /** @param code upstream's HTTP status (interpretStrategicMergePatchError in handlers/patch.go) */
  constructor(
    message: string,
    readonly code: 400 | 422 | 500 = 500,
  ) {
    super(message);
  }
}

export function noMergeKey(element: unknown, mergeKey: string): StrategicPatchError {
  return new StrategicPatchError(`map: ${goFormat(element)} does not contain declared merge key: ${mergeKey}`);
}

export function unknownPatchType(directive: unknown, map: unknown): StrategicPatchError {
  return new StrategicPatchError(`unknown patch type: ${goFormat(directive)} in map: ${goFormat(map)}`);
}

export function badArgType(expected: string, actual: unknown): StrategicPatchError {
  return new StrategicPatchError(`expected a ${expected}, but received a ${goInterfaceType(actual)}`);
}

export function badPrimitiveList(): StrategicPatchError {
  return new StrategicPatchError("invalid patch format of primitive list", 400);
}

export function badRetainKeys(): StrategicPatchError {
  return new StrategicPatchError("invalid patch format of retainKeys", 400);
}

export function badSetElementOrder(): StrategicPatchError {
  return new StrategicPatchError("invalid patch format of setElementOrder list", 400);
}

export function listOfLists(): StrategicPatchError {
  return new StrategicPatchError("lists of lists are not supported", 422);
}

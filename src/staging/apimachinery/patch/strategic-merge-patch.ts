import { isRecord } from "../../../util/records.js";
import { setOwnValue } from "../own.js";
import { jsonFields } from "../scheme/catalogue.js";
import { goFormat, goInterfaceType } from "../scheme/go-text.js";
import type { Field, FieldType } from "../scheme/schema.js";
import {
  badArgType,
  badPrimitiveList,
  badRetainKeys,
  badSetElementOrder,
  listOfLists,
  noMergeKey,
  StrategicPatchError,
  unknownPatchType,
} from "./strategic-errors.js";
import { identityOf, inOrder, type Json, requireMergeKey } from "./strategic-order.js";

/** Directives of a patch: keys that instruct the server and are not fields. */
const DIRECTIVE = "$patch";
const RETAIN_KEYS = "$retainKeys";
const DELETE_FROM_PRIMITIVE_LIST = "$deleteFromPrimitiveList";
const SET_ELEMENT_ORDER = "$setElementOrder";

/**
 * Applies a patch to an object like a merge patch, but merges lists with a merge key element by element.
 *
 * Mirrors StrategicMergeMapPatch in k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, at v1.25: directives below a
 * missing key are kept and become unknown fields.
 *
 * @param current is not changed
 * @param patch loses the directives that were applied, as upstream's messages show it
 * @param type the object's type; types without fields (maps) merge without merge keys
 * @throws StrategicPatchError
 */
export function applyStrategicMergePatch(current: Json, patch: Json, type: string): Json {
  return mergeMap(current, patch, { type: "object", ref: type });
}

function mergeMap(current: Json, patch: Json, type: FieldType): Json {
  if (Object.hasOwn(patch, DIRECTIVE)) return mapDirective(patch);
  const merged = { ...current };
  retainKeys(merged, patch);
  for (const key of Object.keys(patch)) {
    if (key.startsWith(SET_ELEMENT_ORDER)) mergeInGivenOrder(merged, patch, key, type);
  }
  for (const [patchKey, value] of Object.entries(patch)) {
    const isDeletion = patchKey.startsWith(DELETE_FROM_PRIMITIVE_LIST);
    const key = isDeletion ? afterSlash(patchKey, DELETE_FROM_PRIMITIVE_LIST, badPrimitiveList) : patchKey;
    if (value === null) delete merged[key];
    else if (!Object.hasOwn(merged, key) || goInterfaceType(merged[key]) !== goInterfaceType(value))
      setOwnValue(merged, key, value);
    else setOwnValue(merged, key, mergeValue(merged[key], value, fieldOf(type, key), isDeletion));
  }
  return merged;
}

/** `$patch: replace` returns the patch as it is, `$patch: delete` an empty map. */
function mapDirective(patch: Json): Json {
  const directive = patch[DIRECTIVE];
  if (directive === "replace") {
    delete patch[DIRECTIVE];
    return patch;
  }
  if (directive === "delete") return {};
  throw unknownPatchType(directive, patch);
}

/** Removes every key that `$retainKeys` does not name, which switches a union from one member to another. */
function retainKeys(current: Json, patch: Json): void {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return;
  const keys = patch[RETAIN_KEYS];
  delete patch[RETAIN_KEYS];
  if (!Array.isArray(keys)) throw badRetainKeys();
  const retained = new Set<unknown>(keys);
  for (const [key, value] of Object.entries(patch)) {
    const isDirective = key.startsWith(DELETE_FROM_PRIMITIVE_LIST) || key.startsWith(SET_ELEMENT_ORDER);
    if (value !== null && !isDirective && !retained.has(key)) throw badRetainKeys();
  }
  for (const key of Object.keys(current)) if (!retained.has(key)) delete current[key];
}

/** Merges the list that a `$setElementOrder/x` refers to, and sorts it by that order. Mirrors mergePatchIntoOriginal. */
function mergeInGivenOrder(current: Json, patch: Json, directive: string, type: FieldType): void {
  const order = patch[directive];
  delete patch[directive];
  if (!Array.isArray(order)) throw badArgType("[]interface {}", order);
  const key = afterSlash(directive, SET_ELEMENT_ORDER, badSetElementOrder);
  const field = fieldOf(type, key);
  const mergeKey = field?.mergeKey ?? "";
  const currentList = listIn(current, key);
  const patchList = listIn(patch, key);
  if (patchList !== undefined) checkOrder(patchList, order, mergeKey);
  const merged =
    currentList !== undefined && patchList !== undefined
      ? (mergeValue(currentList, patchList, field, false) as unknown[])
      : (currentList ?? patchList);
  if (merged === undefined) return;
  if ((currentList?.length ?? 0) + (patchList?.length ?? 0) === 0) {
    throw new StrategicPatchError("no elements in any of the given slices");
  }
  current[key] = inOrder(merged, order, currentList ?? [], mergeKey);
  delete patch[key];
}

function listIn(map: Json, key: string): unknown[] | undefined {
  if (!Object.hasOwn(map, key)) return undefined;
  const list = map[key];
  if (!Array.isArray(list)) throw badArgType("[]interface {}", list);
  return list;
}

/** The patch must list its elements in the same order as $setElementOrder. Mirrors validatePatchWithSetOrderList. */
function checkOrder(patchList: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  if (order.length === 0) return;
  let at = 0;
  const named = patchList.filter((element) => !(isRecord(element) && Object.hasOwn(element, DIRECTIVE)));
  if (mergeKey !== "") {
    requireMergeKey(named, mergeKey);
    requireMergeKey(order, mergeKey);
  }
  for (const element of named) {
    while (at < order.length && identityOf(order[at], mergeKey) !== identityOf(element, mergeKey)) at++;
    if (at++ < order.length) continue;
    throw new StrategicPatchError(
      `The order in patch list:\n${goFormat(patchList)}\n doesn't match ${SET_ELEMENT_ORDER} list:\n${goFormat(order)}\n`,
    );
  }
}

/** Merges two maps, two lists or two plain values of the same type. */
function mergeValue(current: unknown, patch: unknown, field: Field | undefined, isDeletion: boolean): unknown {
  if (Array.isArray(patch)) {
    const list = current as unknown[];
    return field?.mergeKey === undefined ? patch : mergeList(list, patch, field, isDeletion);
  }
  if (!isRecord(patch) || field?.replace === true) return patch;
  return mergeMap(current as Json, patch, field?.type ?? ANY);
}

function mergeList(
  current: readonly unknown[],
  patch: readonly unknown[],
  field: Field,
  isDeletion: boolean,
): unknown[] {
  if (current.length === 0 && patch.length === 0) return [];
  const mergeKey = field.mergeKey ?? "";
  if (!checkElements(current, patch)) {
    if (isDeletion) {
      const deleted = new Set(patch);
      return current.filter((element) => !deleted.has(element));
    }
    return inOrder([...new Set([...current, ...patch])], patch, current, "");
  }
  if (mergeKey === "") throw new StrategicPatchError("cannot merge lists without merge key for type string");
  const { kept, changes } = listDirectives(current as Json[], patch as Json[], mergeKey);
  const itemType = field.type.type === "array" ? field.type.items : ANY;
  const merged = [...kept];
  // The first element counts if the list has two of the same key.
  const positions = new Map<unknown, number>();
  const note = (element: Json, at: number) => {
    if (Object.hasOwn(element, mergeKey) && !positions.has(element[mergeKey])) positions.set(element[mergeKey], at);
  };
  merged.forEach(note);
  for (const element of changes) {
    if (!Object.hasOwn(element, mergeKey)) throw noMergeKey(element, mergeKey);
    const at = positions.get(element[mergeKey]);
    const found = at === undefined ? undefined : merged[at];
    if (at === undefined || found === undefined) note(element, merged.push(element) - 1);
    else merged[at] = mergeMap(found, element, itemType);
  }
  return inOrder(merged, changes, kept, mergeKey);
}

/** @returns true for maps, false for plain values @throws for lists and for mixed types */
function checkElements(current: readonly unknown[], patch: readonly unknown[]): boolean {
  const elements = [...current, ...patch];
  const kinds = new Set(elements.map(goInterfaceType));
  if (Array.isArray(elements[0])) throw listOfLists();
  if (kinds.size > 1)
    throw new StrategicPatchError(`list element types are not identical: ${goFormat([current, patch])}`);
  return isRecord(elements[0]);
}

/** Applies `{$patch: delete}` and `{$patch: replace}` in the list. Mirrors mergeSliceWithSpecialElements. */
function listDirectives(current: Json[], patch: readonly Json[], mergeKey: string): { kept: Json[]; changes: Json[] } {
  const changes: Json[] = [];
  let deleted: Set<unknown> | undefined;
  let replaces = false;
  for (const element of patch) {
    if (!Object.hasOwn(element, DIRECTIVE)) changes.push(element);
    else if (element[DIRECTIVE] === "delete") {
      if (!Object.hasOwn(element, mergeKey)) throw noMergeKey(element, mergeKey);
      deleted ??= new Set();
      deleted.add(element[mergeKey]);
    } else if (element[DIRECTIVE] === "replace") replaces = true;
    else if (element[DIRECTIVE] === "merge") {
      throw new StrategicPatchError("merging lists cannot yet be specified in the patch");
    } else throw unknownPatchType(element[DIRECTIVE], element);
  }
  if (replaces) return { kept: changes, changes: [] };
  return { kept: current.filter((other) => deleted?.has(other[mergeKey]) !== true), changes };
}

const ANY: FieldType = { type: "any" };

/** The field of a struct for this key; for a map, the type of its values. */
function fieldOf(type: FieldType, key: string): Field | undefined {
  if (type.type === "object") return jsonFields(type.ref).find(({ name }) => name === key);
  return undefined;
}

function afterSlash(key: string, prefix: string, fail: () => StrategicPatchError): string {
  if (!key.startsWith(`${prefix}/`)) throw fail();
  return key.slice(prefix.length + 1);
}

import { isRecord } from "../../../util/records.js";
import { sameJson } from "../same-json.js";
import { jsonFields } from "../scheme/catalogue.js";
import type { Field, FieldType } from "../scheme/schema.js";
import type { Json } from "./strategic-order.js";

/** The object as last applied, as applied now, and as on the server. */
interface Versions<T> {
  readonly original: T;
  readonly modified: T;
  readonly current: T;
}

/**
 * The strategic merge patch that turns the server's `current` into `modified`: it sets the values of `modified`, and
 * removes fields that `original` had and `modified` lacks. Other fields stay. Pure.
 *
 * Mirrors CreateThreeWayMergePatch in staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, with overwrite.
 * @param type of the objects in the scheme; undefined: a JSON merge patch, which replaces lists
 * @returns {} if there is nothing to change
 */
export function threeWayMergePatch(versions: Versions<Json>, type: string | undefined): Json {
  return mapPatch(versions, type === undefined ? ANY : { type: "object", ref: type }, false);
}

const ANY: FieldType = { type: "any" };

function mapPatch({ original, modified, current }: Versions<Json>, type: FieldType, retainsKeys: boolean): Json {
  const fields = type.type === "object" ? jsonFields(type.ref) : [];
  const patch: Json = {};
  for (const key of Object.keys(original)) {
    if (isGiven(original, key) && !isGiven(modified, key)) patch[key] = null;
  }
  // A file can also say null.
  for (const key of Object.keys(modified)) if (!isGiven(modified, key) && isGiven(current, key)) patch[key] = null;
  for (const key of Object.keys(modified).filter((one) => isGiven(modified, one))) {
    const field = fields.find(({ name }) => name === key);
    const versions = { original: original[key], modified: modified[key], current: current[key] };
    if (!isGiven(current, key)) patch[key] = modified[key];
    else Object.assign(patch, valuePatch(key, versions, field));
  }
  // A union loses its former member.
  if (retainsKeys && Object.keys(patch).length > 0) patch["$retainKeys"] = Object.keys(modified).sort();
  return patch;
}

const isGiven = (map: Json, key: string): boolean =>
  Object.hasOwn(map, key) && map[key] !== null && map[key] !== undefined;

/** The entries of a patch for one field that the server has; {} if it stays. */
function valuePatch(key: string, versions: Versions<unknown>, field: Field | undefined): Json {
  const { original, modified, current } = versions;
  if (isRecord(modified) && isRecord(current) && field?.replace !== true) {
    const maps = { original: isRecord(original) ? original : {}, modified, current };
    const patch = mapPatch(maps, field?.type ?? ANY, field?.retainKeys === true);
    return Object.keys(patch).length === 0 ? {} : { [key]: patch };
  }
  if (Array.isArray(modified) && Array.isArray(current) && field?.mergeKey !== undefined) {
    const lists = { original: Array.isArray(original) ? original : [], modified, current };
    return field.mergeKey === "" ? setPatch(key, lists) : listPatch(key, lists as Versions<Json[]>, field);
  }
  return sameJson(modified, current) ? {} : { [key]: modified };
}

/** A list of maps: elements by their merge key, and the order of all of them. Mirrors diffListsOfMaps. */
function listPatch(key: string, { original, modified, current }: Versions<readonly Json[]>, field: Field): Json {
  const mergeKey = field.mergeKey ?? "";
  const itemType = field.type.type === "array" ? field.type.items : ANY;
  const find = (list: readonly Json[], identity: unknown) => list.find((one) => one[mergeKey] === identity);
  const changes: Json[] = [];
  for (const element of modified) {
    const identity = element[mergeKey];
    const server = find(current, identity);
    if (server === undefined) changes.push(element);
    else {
      const before = find(original, identity) ?? {};
      const patch = mapPatch({ original: before, modified: element, current: server }, itemType, field.retainKeys);
      if (Object.keys(patch).length > 0) changes.push({ ...patch, [mergeKey]: identity });
    }
  }
  for (const element of original) {
    const identity = element[mergeKey];
    if (find(modified, identity) === undefined) changes.push({ $patch: "delete", [mergeKey]: identity });
  }
  if (changes.length === 0 && sameOrder(modified, current, mergeKey)) return {};
  const order = modified.map((element) => ({ [mergeKey]: element[mergeKey] }));
  return { ...(changes.length === 0 ? {} : { [key]: changes }), [`$setElementOrder/${key}`]: order };
}

/** Whether the elements of both lists come in the same order; the server may have more. */
function sameOrder(modified: readonly Json[], current: readonly Json[], mergeKey: string): boolean {
  const wanted = modified.map((one) => one[mergeKey]);
  return sameJson(
    current.map((one) => one[mergeKey]).filter((one) => wanted.includes(one)),
    wanted,
  );
}

/** A list of plain values that is merged as a set: finalizers. Mirrors diffListsOfScalars. */
function setPatch(key: string, { original, modified, current }: Versions<readonly unknown[]>): Json {
  const added = modified.filter((one) => !current.includes(one));
  const removed = original.filter((one) => !modified.includes(one));
  return {
    ...(added.length === 0 ? {} : { [key]: added }),
    ...(removed.length === 0 ? {} : { [`$deleteFromPrimitiveList/${key}`]: removed }),
    ...(added.length + removed.length === 0 ? {} : { [`$setElementOrder/${key}`]: modified }),
  };
}

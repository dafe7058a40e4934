/**
 * Server-side apply: a client sends the fields it manages, and fields of other appliers are protected by conflicts.
 *
 * Mirrors the outcome of sigs.k8s.io/structured-merge-diff/v4/merge (Updater.Apply) for maps and scalars.
 * Differs: the server keeps field ownership in memory instead of managedFields; updates and patches own no
 * fields; each list is owned as a whole.
 */

import type { KubeObject, StatusCause } from "../../../../staging/apimachinery/api/meta.js";
import { cut, MAX_CAUSES, type StatusError, statusError } from "../../../../staging/apimachinery/errors.js";
import { setOwnValue } from "../../../../staging/apimachinery/own.js";
import { isRecord } from "../../../../util/records.js";
import { compareText } from "../../../../util/text/compare-text.js";

type Path = readonly string[];
/** path text -> path: `.metadata.labels.app` */
type FieldSet = ReadonlyMap<string, Path>;

/** The limits of what is remembered: objects, and their fields together. The oldest object is dropped first. */
const MAX_OBJECTS = 10_000;
const MAX_FIELDS = 500_000;

export class Appliers {
  readonly #owners = new Map<string, Map<string, FieldSet>>();
  #fieldCount = 0;

  /**
   * Removes the fields that this manager applied earlier and now omits. The applied fields are merged into the result.
   * @throws StatusError 409 when another applier owns one of the fields with another value, unless `force`
   */
  prepare(current: KubeObject, applied: unknown, manager: string, force: boolean): KubeObject {
    const owners = this.#owners.get(current.metadata.uid ?? "");
    if (owners === undefined) return current;
    const wanted = fieldsOf(applied);
    if (!force) throwConflicts(conflicts(owners, wanted, manager, current, applied));
    const dropped = [...(owners.get(manager) ?? [])].filter(
      ([text]) => !wanted.has(text) && !ownedByOther(owners, text, manager),
    );
    return without(
      current,
      dropped.map(([, path]) => path),
    ) as KubeObject;
  }

  /** Records the manager as the owner of these fields once the object is stored. */
  remember(uid: string, applied: unknown, manager: string): void {
    const wanted = fieldsOf(applied);
    const owners = this.#owners.get(uid) ?? new Map<string, FieldSet>();
    this.#owners.delete(uid);
    this.#fieldCount += wanted.size - (owners.get(manager)?.size ?? 0);
    owners.set(manager, wanted);
    this.#owners.set(uid, owners);
    for (const oldest of this.#owners.keys()) {
      if (this.#owners.size <= MAX_OBJECTS && this.#fieldCount <= MAX_FIELDS) break;
      this.#forget(oldest);
    }
  }

  #forget(uid: string): void {
    for (const { size } of this.#owners.get(uid)?.values() ?? []) this.#fieldCount -= size;
    this.#owners.delete(uid);
  }

  /** For `force`: other managers lose the fields that are in conflict. One who wants the same value keeps its share. */
  takeOver(before: KubeObject, applied: unknown, manager: string): void {
    const owners = this.#owners.get(before.metadata.uid ?? "");
    if (owners === undefined) return;
    const wanted = fieldsOf(applied);
    const lost = new Set(conflicts(owners, wanted, manager, before, applied).map(({ field }) => field));
    for (const [other, fields] of owners) {
      if (other === manager) continue;
      const left = new Map([...fields].filter(([text]) => !lost.has(text)));
      this.#fieldCount += left.size - fields.size;
      owners.set(other, left);
    }
  }
}

interface Conflict {
  readonly manager: string;
  readonly field: string;
}

function conflicts(
  owners: ReadonlyMap<string, FieldSet>,
  wanted: FieldSet,
  manager: string,
  current: KubeObject,
  applied: unknown,
): Conflict[] {
  const found: Conflict[] = [];
  for (const [other, fields] of owners) {
    if (other === manager) continue;
    for (const [field, path] of wanted) {
      if (fields.has(field) && !same(valueAt(current, path), valueAt(applied, path)))
        found.push({ manager: other, field });
    }
  }
  return found;
}

/** Mirrors k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go (NewConflictError, getConflictMessage). */
function throwConflicts(found: readonly Conflict[]): void {
  if (found.length === 0) return;
  throw conflictError(found);
}

function conflictError(found: readonly Conflict[]): StatusError {
  const causes = found.slice(0, MAX_CAUSES).map(
    ({ manager, field }): StatusCause => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${JSON.stringify(manager)}`,
      field: cut(field),
    }),
  );
  const count = found.length === 1 ? "1 conflict" : `${found.length} conflicts`;
  return statusError(409, "Conflict", `Apply failed with ${count}: ${describe(found)}`, { causes });
}

function describe(found: readonly Conflict[]): string {
  const [first] = found;
  if (found.length === 1 && first !== undefined)
    return `conflict with ${JSON.stringify(first.manager)}: ${first.field}`;
  const byManager = new Map<string, string[]>();
  for (const { manager, field } of found) {
    const fields = byManager.get(manager);
    if (fields === undefined) byManager.set(manager, [field]);
    else fields.push(field);
  }
  const parts = [...byManager]
    .sort(([a], [b]) => compareText(a, b))
    .map(([manager, fields]) => {
      const lines = fields.map((field) => `- ${field}`);
      return [`conflicts with ${JSON.stringify(manager)}:`, ...lines].join("\n");
    });
  return parts.join("\n");
}

function ownedByOther(owners: ReadonlyMap<string, FieldSet>, text: string, manager: string): boolean {
  return [...owners].some(([other, fields]) => other !== manager && fields.has(text));
}

/** Every apply contains these fields; they have no owner. */
const IDENTITY = new Set([".apiVersion", ".kind", ".metadata.name", ".metadata.namespace"]);

function fieldsOf(applied: unknown): FieldSet {
  const fields = new Map<string, Path>();
  const walk = (value: unknown, path: Path) => {
    if (isRecord(value) && Object.keys(value).length > 0) {
      for (const [key, item] of Object.entries(value)) walk(item, [...path, key]);
      return;
    }
    const text = `.${path.join(".")}`;
    if (!IDENTITY.has(text)) fields.set(text, path);
  };
  walk(applied, []);
  return fields;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
}

/** Removes fields. Each map along the paths is copied once. */
function without(value: unknown, paths: readonly Path[], depth = 0): unknown {
  if (!isRecord(value)) return value;
  const byKey = new Map<string, Path[]>();
  for (const path of paths) {
    const key = path[depth];
    if (key === undefined || !Object.hasOwn(value, key)) continue;
    const same = byKey.get(key);
    if (same === undefined) byKey.set(key, [path]);
    else same.push(path);
  }
  const left = { ...value };
  for (const [key, below] of byKey) {
    if (below.some(({ length }) => length === depth + 1)) delete left[key];
    else setOwnValue(left, key, without(value[key], below, depth + 1));
  }
  return left;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Server-side apply: a client sends the fields it manages, and fields of other appliers are protected by conflicts.
 *
 * Mirrors the outcome of sigs.k8s.io/structured-merge-diff/v4/merge (Updater.Apply) for maps and scalars.
 * Differs: the server keeps field ownership in memory instead of managedFields; updates and patches own no
 * fields; each list is owned as a whole.
 */

import type { KubeObject, StatusCause } from "../../apimachinery/api/meta.js";
import { type StatusError, statusError } from "../../apimachinery/errors.js";
import { isRecord } from "../../util/records.js";

type Path = readonly string[];
/** path text -> path: `.metadata.labels.app` */
type FieldSet = ReadonlyMap<string, Path>;

/** The number of objects whose appliers are remembered; the oldest entry is dropped first. */
const MAX_OBJECTS = 10_000;

export class Appliers {
  readonly #owners = new Map<string, Map<string, FieldSet>>();

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
    return dropped.reduce((object, [, path]) => without(object, path) as KubeObject, current);
  }

  /** Records the manager as the owner of these fields once the object is stored. */
  remember(uid: string, applied: unknown, manager: string): void {
    const wanted = fieldsOf(applied);
    const owners = this.#owners.get(uid) ?? new Map<string, FieldSet>();
    this.#owners.delete(uid);
    owners.set(manager, wanted);
    this.#owners.set(uid, owners);
    const oldest = this.#owners.keys().next();
    if (this.#owners.size > MAX_OBJECTS && oldest.done !== true) this.#owners.delete(oldest.value);
  }

  /** Removes these fields from all other managers, for `force`. */
  takeOver(uid: string, applied: unknown, manager: string): void {
    const wanted = fieldsOf(applied);
    for (const [other, fields] of this.#owners.get(uid) ?? []) {
      if (other === manager) continue;
      this.#owners.get(uid)?.set(other, new Map([...fields].filter(([text]) => !wanted.has(text))));
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

/** Mirrors k8s.io/apimachinery/pkg/util/managedfields/fieldmanager.go (NewConflictError). */
function throwConflicts(found: readonly Conflict[]): void {
  if (found.length === 0) return;
  throw conflictError(found);
}

function conflictError(found: readonly Conflict[]): StatusError {
  const causes = found.map(
    ({ manager, field }): StatusCause => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${JSON.stringify(manager)}`,
      field,
    }),
  );
  const count = found.length === 1 ? "1 conflict" : `${found.length} conflicts`;
  return statusError(409, "Conflict", `Apply failed with ${count}: ${describe(found)}`, { causes });
}

function describe(found: readonly Conflict[]): string {
  const byManager = new Map<string, string[]>();
  for (const { manager, field } of found) byManager.set(manager, [...(byManager.get(manager) ?? []), field]);
  const parts = [...byManager].map(([manager, fields]) =>
    fields.length === 1
      ? `conflict with ${JSON.stringify(manager)}: ${fields[0]}`
      : `conflicts with ${JSON.stringify(manager)}:\n${fields.map((field) => `- ${field}`).join("\n")}`,
  );
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

function without(value: unknown, path: Path): unknown {
  const [key, ...rest] = path;
  if (key === undefined || !isRecord(value) || !(key in value)) return value;
  const { [key]: inner, ...others } = value;
  if (rest.length === 0) return others;
  return { ...value, [key]: without(inner, rest) };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

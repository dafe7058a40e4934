/** One field that differs between two versions of an object; both sides are JSON. */
export interface Change {
  /** `status.conditions[Ready].status` */
  readonly path: string;
  /** undefined: the field was added */
  readonly before: string | undefined;
  /** undefined: the field was removed */
  readonly after: string | undefined;
}

/** Fields that identify an element of a list, as in the API's strategic merges; otherwise its index does. */
const MERGE_KEYS = ["type", "name", "containerPort", "ip", "mountPath", "uid"];
/** Fields that change with every write. */
const BOOKKEEPING = /^metadata\.(managedFields|resourceVersion)\b/;

/** The fields that differ between two versions of an object. */
export function diffObjects(before: unknown, after: unknown): Change[] {
  const changes: Change[] = [];
  compare("", before, after, changes);
  return changes.filter(({ path }) => !BOOKKEEPING.test(path));
}

function compare(path: string, before: unknown, after: unknown, changes: Change[]): void {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  if (old === undefined || now === undefined || old.isList !== now.isList) {
    const [from, to] = [JSON.stringify(before), JSON.stringify(after)];
    if (from !== to) changes.push({ path, before: from, after: to });
    return;
  }
  for (const key of new Set([...old.fields.keys(), ...now.fields.keys()])) {
    const name = now.isList ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
    compare(name, old.fields.get(key), now.fields.get(key), changes);
  }
}

interface Fields {
  readonly isList: boolean;
  readonly fields: ReadonlyMap<string, unknown>;
}

function fieldsOf(value: unknown): Fields | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (!Array.isArray(value)) return { isList: false, fields: new Map(Object.entries(value)) };
  const mergeKey = MERGE_KEYS.find(
    (key) => new Set(value.map((one) => one?.[key]).filter((name) => typeof name === "string")).size === value.length,
  );
  const nameOf = (one: unknown, i: number) => (mergeKey === undefined ? String(i) : String(Object(one)[mergeKey]));
  return { isList: true, fields: new Map(value.map((one, i) => [nameOf(one, i), one])) };
}

import type { Change } from "../../../trace/events.js";
import { isRecord } from "../../../util/records.js";
import { ownValue } from "../own.js";
import { sameJson } from "../same-json.js";

/**
 * The JSON patch that turns `before` into `after`, fields in the order of `after`. A new element at the end of a list
 * is added; a list with another difference in length is replaced. Fields whose value is undefined count as absent.
 */
export function jsonDiff(before: unknown, after: unknown): Change[] {
  const changes: Change[] = [];
  compare("", before, after, changes);
  return changes;
}

function compare(path: string, before: unknown, after: unknown, changes: Change[]): void {
  // Objects of the store share their unchanged parts.
  if (before === after) return;
  if (Array.isArray(before) && Array.isArray(after) && before.length <= after.length) {
    const isLonger = before.length < after.length;
    // An element that was inserted at the beginning moves all others.
    if (isLonger && !before.every((item, i) => sameJson(item, after[i]))) changes.push(replaced(path, after));
    else for (const [i, item] of after.entries()) compareField(`${path}/${i}`, before[i], item, changes);
  } else if (isRecord(before) && isRecord(after)) {
    for (const key of Object.keys(before)) {
      if (before[key] !== undefined && ownValue(after, key) === undefined)
        changes.push({ op: "remove", path: below(path, key) });
    }
    for (const [key, value] of Object.entries(after))
      compareField(below(path, key), ownValue(before, key), value, changes);
  } else if (!sameJson(before, after)) changes.push(replaced(path, after));
}

function compareField(path: string, before: unknown, after: unknown, changes: Change[]): void {
  if (after === undefined) return;
  if (before === undefined) changes.push({ op: "add", path, value: after });
  else compare(path, before, after, changes);
}

function replaced(path: string, value: unknown): Change {
  return { op: "replace", path, value };
}

/** RFC 6901 */
function below(path: string, key: string): string {
  return `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

import type { Say } from "../../../util/i18n/catalogue.js";

/**
 * Reads the value at a path: `status.conditions[type=Ready].status`, `spec.taints[*].key`, `metadata.labels['a/b']`,
 * `items[0].metadata.name`.
 * @returns undefined if there is no value; an array if the path contains `[*]`
 * @throws Error for an invalid path
 */
export function fieldOf(root: unknown, path: string): unknown {
  let values: unknown[] = [root];
  let isMany = false;
  for (const part of partsOf(path)) {
    if (part.kind === "all") isMany = true;
    values = values.flatMap((value) => follow(value, part)).filter((value) => value !== undefined && value !== null);
  }
  return isMany ? values : values[0];
}

/** The common beginnings of paths, which a learner does not need. */
const PLACE = /^(?:spec|status|metadata)\.(?:template\.(?:spec|metadata)\.)?/;
const IN_LIST = /^(\w+)\[(?:[\w.-]+=([^\]]*)|0)\](?:\.([^[]+))?$/;
const IN_MAP = /^(label|annotation)s(?:\.([\w-]+)|\['([^']+)'\])$/;

/** The short name of a field for learners: `condition Ready`, `image of container main`, `label app`. A deep path stays unchanged. */
export function fieldInWords(path: string, say: Say): string {
  const rest = path.replace(PLACE, "");
  const [, map, plain, quoted] = IN_MAP.exec(rest) ?? [];
  if (map !== undefined) return `${map} ${plain ?? quoted}`;
  const [, list, name, field] = IN_LIST.exec(rest) ?? [];
  if (list === undefined) return rest;
  const one = list.replace("Statuses", "s").replace(/s$/, "").replace("initContainer", "init container");
  const part = name === undefined ? say("firstOf", { part: one }) : `${one} ${name}`;
  if (field === undefined || (list === "conditions" && field === "status")) return part;
  return say("fieldOfObject", { field, object: part });
}

/** Whether `fieldOf` accepts a path; `{{variables}}` count as words. */
export function isFieldPath(path: string): boolean {
  try {
    return partsOf(path.replace(/\{\{(\w+)\}\}/g, "$1")).length > 0;
  } catch {
    return false;
  }
}

type Part =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "all" }
  | { readonly kind: "where"; readonly key: string; readonly value: string };

function follow(value: unknown, part: Part): unknown[] {
  switch (part.kind) {
    case "key":
      return typeof value === "object" && value !== null ? [(value as Record<string, unknown>)[part.key]] : [];
    case "index":
      return Array.isArray(value) ? [value[part.index]] : [];
    case "all":
      return Array.isArray(value) ? value : [];
    case "where":
      return Array.isArray(value)
        ? value.filter((one) => String(fieldOf(one, part.key)) === part.value).slice(0, 1)
        : [];
  }
}

const TOKEN = /\.?([\w-]+)|\['([^']+)'\]|\[(\d+)\]|\[(\*)\]|\[([\w.-]+)=([^\]]*)\]/y;

function partsOf(path: string): Part[] {
  const parts: Part[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < path.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(path);
    if (match === null) throw new Error(`the path ${path} is invalid from character ${at + 1}`);
    const [, plain, quoted, index, all, key, value] = match;
    if (plain !== undefined) parts.push({ kind: "key", key: plain });
    else if (quoted !== undefined) parts.push({ kind: "key", key: quoted });
    else if (index !== undefined) parts.push({ kind: "index", index: Number(index) });
    else if (all !== undefined) parts.push({ kind: "all" });
    else parts.push({ kind: "where", key: key ?? "", value: value ?? "" });
  }
  return parts;
}

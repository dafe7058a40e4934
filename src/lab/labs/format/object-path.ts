import type { Say } from "../../../util/i18n/catalogue.js";

/** The parts of an object's or a list's path. */
export interface PathParts {
  readonly resource: string;
  readonly namespace: string | undefined;
  /** undefined: a list */
  readonly name: string | undefined;
}

/** `/api/v1/nodes/n1`, `/apis/apps/v1/namespaces/default/deployments` */
export function partsOf(path: string): PathParts {
  const words = path.split("?")[0]?.split("/").slice(1) ?? [];
  const rest = words.slice(words[0] === "api" ? 2 : 3);
  const isNamespaced = rest[0] === "namespaces" && rest.length > 2;
  const [resource = "", name] = isNamespaced ? rest.slice(2) : rest;
  return { resource, namespace: isNamespaced ? rest[1] : undefined, name };
}

/** The name of an object in facts, or the prefix for a list's objects: `pods default/web`, `nodes n1`, `pods default/`. */
export function objectOf({ resource, namespace, name = "" }: PathParts): string {
  return `${resource} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

/**
 * The short name of a path's object or list for learners: `pod web`, `lease kube-node-lease/n1`, `pods in default`.
 * Other paths stay unchanged.
 */
export function pathInWords(path: string, say: Say): string {
  if (!/^\/apis?\//.test(path)) return path;
  const parts = partsOf(path);
  const { resource, namespace, name } = parts;
  if (name !== undefined) {
    const one = resource.replace(/(?<=ss|sh|ch|x)es$|ies$|(?<!endpoint)s$/, (end) => (end === "ies" ? "y" : ""));
    return `${one} ${namespace === undefined || namespace === "default" ? "" : `${namespace}/`}${name}`;
  }
  return namespace === undefined ? resource : say("listIn", { resource, namespace });
}

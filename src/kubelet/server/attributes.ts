/** The access to the node that a request needs, as the kubelet sends it to the API server. */
export interface NodeAttributes {
  /** `get`, `create`, ...; empty for a method without an API verb (HEAD, OPTIONS) */
  readonly verb: string;
  /** of `nodes` */
  readonly subresource: "proxy" | "stats" | "metrics" | "log" | "checkpoint";
}

const VERBS: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

const SUBRESOURCES: readonly (readonly [path: string, subresource: NodeAttributes["subresource"]])[] = [
  ["/stats", "stats"],
  ["/metrics", "metrics"],
  // The singular, as in pods/log.
  ["/logs", "log"],
  ["/checkpoint", "checkpoint"],
];

/**
 * Mirrors pkg/kubelet/server/auth.go (GetRequestAttributes, isSubpath). Pure.
 * @param path decoded, without the query
 */
export function getRequestAttributes(method: string, path: string): NodeAttributes {
  const found = SUBRESOURCES.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`));
  return { verb: VERBS[method] ?? "", subresource: found?.[1] ?? "proxy" };
}

/**
 * The attributes of a request, from its method and path alone: authorization needs them before any lookup.
 *
 * Mirrors k8s.io/apiserver/pkg/endpoints/request/requestinfo.go (NewRequestInfo).
 */
export interface RequestInfo {
  readonly isResourceRequest: boolean;
  /** decoded, with the leading slash */
  readonly path: string;
  /** get list watch create update patch delete deletecollection; for other paths the method in lower case */
  readonly verb: string;
  /** `api`, `apis` or "" */
  readonly apiPrefix: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** path segments, starting with the resource: `["nodes", "n1", "status"]` */
  readonly parts: readonly string[];
  /** the old `/api/v1/watch/...` form */
  readonly isWatchPath: boolean;
  /** the path has `/namespaces/<namespace>/` before the resource */
  readonly inNamespace: boolean;
}

const VERBS: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  HEAD: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** With these, `/namespaces/<name>/<word>` is a subresource of the namespace itself. */
const NAMESPACE_SUBRESOURCES = new Set(["status", "finalize"]);

/**
 * Path and query of a request target, also in absolute form (`https://host/path`).
 * @returns undefined when the path cannot be decoded
 */
export function splitTarget(target: string): { readonly path: string; readonly query: string } | undefined {
  const question = target.indexOf("?");
  let path = question < 0 ? target : target.slice(0, question);
  const query = question < 0 ? "" : target.slice(question + 1);
  if (!path.startsWith("/")) {
    const afterScheme = path.indexOf("://");
    if (afterScheme < 0) return undefined;
    const slash = path.indexOf("/", afterScheme + 3);
    path = slash < 0 ? "/" : path.slice(slash);
  }
  if (!path.includes("%")) return { path, query };
  // Decoded before it is split, as Go does: an encoded slash separates segments for authorization and routing alike.
  const decoded = percentDecoded(path);
  return decoded === undefined ? undefined : { path: decoded, query };
}

/** Invalid UTF-8 becomes a name that matches nothing; only a percent sign without two digits makes the path invalid. */
function percentDecoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    if (/%(?![0-9a-fA-F]{2})/.test(path)) return undefined;
    const bytes = path.replace(/%(..)/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
    return Buffer.from(bytes, "latin1").toString();
  }
}

export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const segments = splitPath(path);
  const [prefix = "", ...rest] = segments;
  const isGroupless = prefix === "api";
  if (segments.length < 3 || (!isGroupless && prefix !== "apis")) return nonResource(method, path);
  if (!isGroupless && rest.length < 3) return nonResource(method, path);

  const apiGroup = isGroupless ? "" : (rest.shift() ?? "");
  const apiVersion = rest.shift() ?? "";
  let verb = VERBS[method] ?? "";
  let parts = rest;
  const isWatchPath = parts[0] === "watch";
  if (isWatchPath) {
    if (parts.length < 2) return nonResource(method, path);
    verb = "watch";
    parts = parts.slice(1);
  }
  const [namespace, inNamespace, about] = namespaceOf(parts);
  const resource = about[0] ?? "";
  let name = about[1] ?? "";
  if (name === "" && verb === "get") {
    verb = isWatch(query) ? "watch" : "list";
    name = nameInFieldSelector(query) ?? "";
  } else if (isWatchPath && name === "") {
    name = nameInFieldSelector(query) ?? "";
  }
  if (name === "" && verb === "delete") verb = "deletecollection";
  return {
    isResourceRequest: true,
    path,
    verb,
    apiPrefix: prefix,
    apiGroup,
    apiVersion,
    namespace,
    resource,
    subresource: about[2] ?? "",
    name,
    parts: about,
    isWatchPath,
    inNamespace,
  };
}

/** The namespace, whether it is a prefix of the path, and the segments starting with the resource. */
function namespaceOf(parts: string[]): [namespace: string, inNamespace: boolean, about: string[]] {
  if (parts[0] !== "namespaces" || parts.length < 2) return ["", false, parts];
  const namespace = parts[1] ?? "";
  // A request for the namespace itself: the namespace is also its scope.
  if (parts.length === 2 || NAMESPACE_SUBRESOURCES.has(parts[2] ?? "")) return [namespace, false, parts];
  return [namespace, true, parts.slice(2)];
}

function nonResource(method: string, path: string): RequestInfo {
  return {
    isResourceRequest: false,
    path,
    verb: method.toLowerCase(),
    apiPrefix: "",
    apiGroup: "",
    apiVersion: "",
    namespace: "",
    resource: "",
    subresource: "",
    name: "",
    parts: [],
    isWatchPath: false,
    inNamespace: false,
  };
}

function splitPath(path: string): string[] {
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === "/") start++;
  while (end > start && path[end - 1] === "/") end--;
  return start === end ? [] : path.slice(start, end).split("/");
}

/** Upstream's reading of a boolean parameter: true if present (`watch=`, `watch=yes`) and neither `false` nor `0`. */
export function isTrue(query: URLSearchParams, parameter: string): boolean {
  const value = query.get(parameter);
  if (value === null) return false;
  const lower = value.toLowerCase();
  return lower !== "false" && lower !== "0";
}

function isWatch(query: URLSearchParams): boolean {
  return query.size > 0 && isTrue(query, "watch");
}

/** A list with `fieldSelector=metadata.name=x` counts as a request for x, which lets a node watch a single secret. */
function nameInFieldSelector(query: URLSearchParams): string | undefined {
  const selector = query.size === 0 ? null : query.get("fieldSelector");
  if (selector === null) return undefined;
  for (const term of selector.split(",")) {
    const match = /^metadata\.name={1,2}([^=!]+)$/.exec(term);
    const name = match?.[1];
    if (name !== undefined && name !== "." && name !== ".." && !/[/%]/.test(name)) return name;
  }
  return undefined;
}

import { groupVersion, storeName } from "../../../staging/apimachinery/api/resource.js";
import { methodNotAllowed, resourceNotServed } from "../../../staging/apimachinery/errors.js";
import { compareText } from "../../../util/text/compare-text.js";
import type { ResourceDefinition, SubresourceDefinition } from "../registry/rest/definition.js";
import type { Registry } from "../registry/rest/registry.js";
import type { RequestInfo } from "./request-info.js";

/** One resource as it appears in paths. */
export interface Route {
  readonly definition: ResourceDefinition;
  /** the name in `Registry.store` and in the action handlers: `pods`, `leases.coordination.k8s.io` */
  readonly qualified: string;
  readonly subresources: ReadonlyMap<string, SubresourceDefinition>;
}

/** The target of a parsed request path. */
export interface Target {
  readonly route: Route;
  readonly subresource: SubresourceDefinition | undefined;
  /** undefined: cluster scope, or all namespaces */
  readonly namespace: string | undefined;
  /** undefined: the collection */
  readonly name: string | undefined;
  readonly verb: string;
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
  readonly routes: ReadonlyMap<string, Route>;
}

/** Upstream's order of groups in /apis, by the priority of their APIService. Other groups follow by name. */
const GROUP_ORDER = [
  "apiregistration.k8s.io",
  "apps",
  "events.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "networking.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "storage.k8s.io",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "scheduling.k8s.io",
  "coordination.k8s.io",
  "node.k8s.io",
  "discovery.k8s.io",
  "flowcontrol.apiserver.k8s.io",
];

/** All resource paths, built from the table of resources. Mirrors k8s.io/apiserver/pkg/endpoints/installer.go. */
export class Routes {
  readonly #groupVersions = new Map<string, GroupVersion>();
  #groups: ReadonlyMap<string, readonly string[]> = new Map();
  #generation = 0;

  /** the rows have changed since the paths were built */
  #isOld = false;

  constructor(readonly registry: Pick<Registry, "definitions" | "onChange">) {
    this.#build();
    registry.onChange(() => {
      this.#isOld = true;
      this.#generation++;
    });
  }

  /** named groups in the order of /apis, with their versions, preferred first */
  get groups(): ReadonlyMap<string, readonly string[]> {
    this.#renew();
    return this.#groups;
  }

  /** Changes when a path comes or goes, for caches of what is made from the routes. */
  get generation(): number {
    return this.#generation;
  }

  #renew(): void {
    if (this.#isOld) this.#build();
  }

  #build(): void {
    this.#isOld = false;
    this.#groupVersions.clear();
    const tables = new Map<string, Map<string, Route>>();
    for (const definition of this.registry.definitions) {
      if (definition.isHidden === true) continue;
      const key = groupVersion(definition);
      const routes = tables.get(key) ?? new Map<string, Route>();
      routes.set(definition.resource, routeOf(definition));
      tables.set(key, routes);
      this.#groupVersions.set(key, { group: definition.group, version: definition.version, routes });
    }
    this.#groups = groupsOf([...this.#groupVersions.values()]);
  }

  groupVersion(group: string, version: string): GroupVersion | undefined {
    this.#renew();
    return this.#groupVersions.get(groupVersion({ group, version }));
  }

  all(): GroupVersion[] {
    this.#renew();
    return [...this.#groupVersions.values()];
  }

  /** @throws StatusError 404 for a path that is not served, 405 for a method that the path does not support */
  resolve(info: RequestInfo, method: string): Target {
    const route = this.groupVersion(info.apiGroup, info.apiVersion)?.routes.get(info.resource);
    if (route === undefined) throw resourceNotServed();
    const { definition } = route;
    const [, name = "", ...below] = info.parts;
    if (definition.namespaced ? !info.inNamespace && name !== "" : info.inNamespace) throw resourceNotServed();
    const subresource = below.length === 0 ? undefined : findSubresource(route, below, info.isWatchPath);
    if (!takesMethod(definition, subresource, info, method)) throw methodNotAllowed();
    return {
      route,
      subresource,
      namespace: definition.namespaced && info.inNamespace ? info.namespace : undefined,
      name: name === "" ? undefined : name,
      verb: info.verb,
    };
  }

  /** Reports whether an unknown path is below a served one: the error is then a Status, not plain text. */
  isServed(path: string): boolean {
    if (path === "/api" || path.startsWith("/api/") || path.startsWith("/version/")) return true;
    const group = /^\/apis\/([^/]+)/.exec(path)?.[1];
    return group !== undefined && this.groups.has(group);
  }
}

function routeOf(definition: ResourceDefinition): Route {
  return {
    definition,
    qualified: storeName(definition),
    subresources: new Map((definition.subresources ?? []).map((one) => [one.name, one])),
  };
}

function findSubresource(route: Route, below: readonly string[], isWatchPath: boolean): SubresourceDefinition {
  const subresource = route.subresources.get(below[0] ?? "");
  if (subresource === undefined || isWatchPath) throw resourceNotServed();
  if (below.length > 1 && subresource.name !== "proxy") throw resourceNotServed();
  return subresource;
}

const OBJECT_METHODS: Readonly<Record<string, string>> = {
  GET: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};
const SUBRESOURCE_METHODS: Readonly<Record<string, string>> = { ...OBJECT_METHODS, POST: "create" };
/** Mirrors proxyMethods in pkg/registry/core/pod/rest/subresources.go: discovery has no verbs for the last two. */
const PROXY_METHODS: Readonly<Record<string, string>> = { ...SUBRESOURCE_METHODS, HEAD: "get", OPTIONS: "get" };
const COLLECTION_METHODS: Readonly<Record<string, string>> = {
  GET: "list",
  POST: "create",
  DELETE: "deletecollection",
};

function takesMethod(
  definition: ResourceDefinition,
  subresource: SubresourceDefinition | undefined,
  info: RequestInfo,
  method: string,
): boolean {
  if (info.isWatchPath) return method === "GET" && definition.verbs.includes("watch");
  if (subresource !== undefined) {
    const methods = subresource.name === "proxy" ? PROXY_METHODS : SUBRESOURCE_METHODS;
    return has(subresource.verbs, methods[method]);
  }
  if (info.parts.length > 1) return has(definition.verbs, OBJECT_METHODS[method]);
  // A request across all namespaces can only list and watch.
  if (definition.namespaced && !info.inNamespace && method !== "GET") return false;
  return has(definition.verbs, COLLECTION_METHODS[method]);
}

function has(verbs: readonly string[], verb: string | undefined): boolean {
  return verb !== undefined && verbs.includes(verb);
}

function groupsOf(groupVersions: readonly GroupVersion[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  const rank = (group: string) => {
    const index = GROUP_ORDER.indexOf(group);
    return index < 0 ? GROUP_ORDER.length : index;
  };
  const named = groupVersions.filter((one) => one.group !== "");
  named.sort((a, b) => rank(a.group) - rank(b.group) || compareText(a.group, b.group) || byVersion(a, b));
  for (const { group, version } of named) {
    const versions = groups.get(group) ?? [];
    versions.push(version);
    groups.set(group, versions);
  }
  return groups;
}

/** v2 before v1 before v1beta2 before v1beta1, and all of them before other names. Mirrors k8s.io/apimachinery/pkg/version (CompareKubeAwareVersionStrings). */
function byVersion(a: GroupVersion, b: GroupVersion): number {
  const [majorA, stageA, minorA] = versionParts(a.version);
  const [majorB, stageB, minorB] = versionParts(b.version);
  return stageB - stageA || majorB - majorA || minorB - minorA || compareText(a.version, b.version);
}

function versionParts(version: string): [major: number, stage: number, minor: number] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return [0, -1, 0];
  const stage = match[2] === undefined ? 2 : match[2] === "beta" ? 1 : 0;
  return [Number(match[1] ?? 0), stage, Number(match[3] ?? 0)];
}

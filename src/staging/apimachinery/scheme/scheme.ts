import { groupVersion } from "../api/resource.js";
import { badRequest, internalError, type StatusError } from "../errors.js";
import { typeNames, typeSchema } from "./catalogue.js";
import type { KindRef } from "./schema.js";

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Older versions in upstream's scheme at v1.25: a body with one of these is refused with a different message. */
const OLDER_VERSIONS: Readonly<Record<string, readonly string[]>> = {
  apps: ["v1beta1", "v1beta2"],
  autoscaling: ["v2beta1", "v2beta2"],
  batch: ["v1beta1"],
  "authentication.k8s.io": ["v1beta1"],
  "authorization.k8s.io": ["v1beta1"],
  "certificates.k8s.io": ["v1beta1"],
  "coordination.k8s.io": ["v1beta1"],
  "discovery.k8s.io": ["v1beta1"],
  "events.k8s.io": ["v1beta1"],
  "networking.k8s.io": ["v1beta1"],
  "node.k8s.io": ["v1alpha1", "v1beta1"],
  policy: ["v1beta1"],
  "rbac.authorization.k8s.io": ["v1alpha1", "v1beta1"],
  "scheduling.k8s.io": ["v1alpha1", "v1beta1"],
  "storage.k8s.io": ["v1alpha1", "v1beta1"],
};

/** Where upstream creates its schemes: its messages contain these locations. */
const SCHEME = "pkg/api/legacyscheme/scheme.go:30";
const META_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";

/**
 * Checks whether a body of this kind is accepted where another (or the same) is expected.
 * Mirrors the codec's Decode (k8s.io/apimachinery/pkg/runtime/serializer/versioning) and the check after it in create.go.
 */
export function checkGroupVersionKind(actual: GroupVersionKind, expected: KindRef): StatusError | undefined {
  const { group, version, kind } = actual;
  const isVersion = version === expected.version || expected.olderVersions?.includes(version) === true;
  if (kind === expected.kind && group === expected.group && isVersion) return undefined;
  const cannot = (why: string) =>
    badRequest(`${kind} in version "${version}" cannot be handled as a ${expected.kind}: ${why}`);
  const isOlder = OLDER_VERSIONS[group]?.includes(version) === true;
  if (!isRegistered(group, kind, isOlder ? undefined : version)) {
    return cannot(`no kind "${kind}" is registered for version "${groupVersion(actual)}" in scheme "${SCHEME}"`);
  }
  if (kind !== expected.kind || internalPackage(group) !== internalPackage(expected.group)) {
    const internal = `${internalPackage(expected.group)}.${expected.kind}`;
    return cannot(`converting (${version}.${kind}) to (${internal}): unknown conversion`);
  }
  return otherVersion(actual, expected);
}

/** As `checkGroupVersionKind` for custom kinds, whose validation checks the kind. */
export function checkGroupVersion(actual: GroupVersionKind, expected: KindRef): StatusError | undefined {
  return groupVersion(actual) === groupVersion(expected) ? undefined : otherVersion(actual, expected);
}

function otherVersion(actual: GroupVersionKind, expected: KindRef): StatusError {
  return badRequest(
    `the API version in the data (${groupVersion(actual)}) does not match the expected API version (${groupVersion(expected)})`,
  );
}

/** Options are registered in every group, in a separate scheme whose errors upstream does not convert to 400. */
export function checkMetaKind(actual: GroupVersionKind, expected: string): StatusError | undefined {
  if (actual.kind === expected) return undefined;
  return internalError(
    `no kind "${actual.kind}" is registered for version "${groupVersion(actual)}" in scheme "${META_SCHEME}"`,
  );
}

/** The API group of a Go package of types: `io.k8s.api.rbac.v1` is `rbac.authorization.k8s.io`. */
export function groupOfPackage(packageName: string): string {
  const name = packageName.split(".").at(-2) ?? "";
  if (name === "core" || name === "meta") return "";
  if (name === "rbac") return "rbac.authorization.k8s.io";
  return ["apps", "autoscaling", "batch", "policy"].includes(name) ? name : `${name}.k8s.io`;
}

/** The API version of a Go package of types: `io.k8s.api.autoscaling.v2` is `v2`. */
export function versionOfPackage(packageName: string): string {
  return packageName.slice(packageName.lastIndexOf(".") + 1);
}

/** @returns the name in the type tables, undefined if there is none. Status and options belong to no group: `v1`. */
export function typeNameOf(apiVersion: string, kind: string): string | undefined {
  const slash = apiVersion.indexOf("/");
  return kinds().get(kindKey(apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), kind));
}

/** `group/version/kind` -> name in the tables, computed once from constants. */
const byKind = new Map<string, string>();

function kindKey(group: string, version: string, kind: string): string {
  return `${group}/${version}/${kind}`;
}

function kinds(): ReadonlyMap<string, string> {
  if (byKind.size > 0) return byKind;
  for (const name of typeNames()) {
    const { goName, isKind, package: packageName } = typeSchema(name);
    if (isKind) byKind.set(kindKey(groupOfPackage(packageName), versionOfPackage(packageName), goName), name);
  }
  return byKind;
}

/** @param version undefined: an older version, which had the kinds of v1 */
function isRegistered(group: string, kind: string, version = "v1"): boolean {
  const item = kind.endsWith("List") ? kind.slice(0, -"List".length) : kind;
  return kinds().has(kindKey(group, version, kind)) || kinds().has(kindKey(group, version, item));
}

/** Go's name of the package with the internal types. */
function internalPackage(group: string): string {
  if (group === "" || group === "events.k8s.io") return "core";
  return group.split(".")[0] ?? group;
}

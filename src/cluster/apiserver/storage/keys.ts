import { isPathSegmentName } from "../../../staging/apimachinery/api/names.js";
import type { ApiResource } from "../../../staging/apimachinery/api/resource.js";
import { badRequest } from "../../../staging/apimachinery/errors.js";

const ROOT = "/registry/";

/** Older names in keys. Mirrors specialDefaultResourcePrefixes in pkg/kubeapiserver/default_storage_factory_builder.go */
const SPECIAL_PREFIXES: Readonly<Record<string, string>> = {
  nodes: "minions",
  services: "services/specs",
  endpoints: "services/endpoints",
  replicationcontrollers: "controllers",
  ingresses: "ingress",
  customresourcedefinitions: "apiextensions.k8s.io/customresourcedefinitions",
};

/** The storage keys of one resource. */
export interface ResourceKeys {
  /** `/registry/pods/` */
  readonly resourcePrefix: string;
  /** the prefix of a namespace's objects; without a namespace, of all objects */
  prefix(namespace: string | undefined): string;
  /** @throws StatusError 400 for a name that is not a valid path segment */
  key(namespace: string | undefined, name: string): string;
}

/** The beginning of the keys of a custom resource: `/registry/example.com/widgets/`. */
function customResourcePrefix(group: string, plural: string): string {
  return `${ROOT}${group}/${plural}/`;
}

/** Mirrors NamespaceKeyFunc and NoNamespaceKeyFunc in k8s.io/apiserver/pkg/registry/generic/registry/store.go. */
export function resourceKeys(
  row: Pick<ApiResource, "resource" | "namespaced" | "custom"> & { readonly group?: string },
): ResourceKeys {
  const { resource, namespaced } = row;
  const resourcePrefix =
    row.custom === undefined
      ? `${ROOT}${SPECIAL_PREFIXES[resource] ?? resource}/`
      : customResourcePrefix(row.group ?? "", resource);
  const prefix = (namespace: string | undefined) =>
    !namespaced || namespace === undefined || namespace === "" ? resourcePrefix : `${resourcePrefix}${namespace}/`;
  return {
    resourcePrefix,
    prefix,
    key(namespace, name) {
      if (namespaced && (namespace === undefined || namespace === ""))
        throw badRequest("Namespace parameter required.");
      if (name === "") throw badRequest("Name parameter required.");
      const messages = isPathSegmentName(name);
      if (messages.length > 0)
        throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${messages.join(";")}`);
      return prefix(namespace) + name;
    },
  };
}

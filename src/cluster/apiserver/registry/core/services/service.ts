import type { V1ServiceSpec } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../../staging/apimachinery/api/meta.js";
import type { Service } from "../../../../../staging/apimachinery/api/objects.js";
import { type GoText, goValue } from "../../rest/field-errors.js";

/** What the parts of this folder need to know about a service. */

/** A service whose spec is being prepared. Lists are complete: never null. */
export interface ServiceDraft extends KubeObject {
  readonly spec: V1ServiceSpec;
}

/** A copy whose spec may be changed. */
export function draftOf(service: Service): ServiceDraft {
  return { ...service, spec: structuredClone(service.spec ?? {}) as V1ServiceSpec };
}

export const CLUSTER_IP_NONE = "None";

/** Mirrors isHeadlessService in pkg/apis/core/validation/validation.go. */
export function isHeadless({ spec }: Pick<Service, "spec">): boolean {
  return spec?.clusterIPs?.length === 1 && spec.clusterIPs[0] === CLUSTER_IP_NONE;
}

/** The service has an address or `None`. Mirrors needsClusterIP in pkg/registry/core/service/strategy.go. */
export function needsClusterIp({ spec }: Pick<Service, "spec">): boolean {
  return spec?.type !== "ExternalName";
}

/** Mirrors needsNodePort in pkg/registry/core/service/strategy.go. */
export function needsNodePort({ spec }: Pick<Service, "spec">): boolean {
  return spec?.type === "NodePort" || spec?.type === "LoadBalancer";
}

/** Mirrors NeedsHealthCheck in pkg/api/service/util.go. */
export function needsHealthCheck({ spec }: Pick<Service, "spec">): boolean {
  return spec?.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
}

/** Mirrors ExternallyAccessible in pkg/api/service/util.go. */
export function isExternallyAccessible({ spec }: Pick<Service, "spec">): boolean {
  if (spec?.type === "LoadBalancer" || spec?.type === "NodePort") return true;
  return spec?.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0;
}

/** Mirrors collectServiceNodePorts in pkg/registry/core/service/storage/alloc.go. */
export function nodePortsOf({ spec }: Pick<Service, "spec">): number[] {
  return (spec?.ports ?? []).flatMap(({ nodePort = 0 }) => (nodePort === 0 ? [] : [nodePort]));
}

export function sameList(a: readonly string[] | null = [], b: readonly string[] | null = []): boolean {
  const [left, right] = [a ?? [], b ?? []];
  return left.length === right.length && left.every((one, index) => one === right[index]);
}

/** A list of strings as Go's `%#v` prints it: `[]string{"10.96.0.10"}`. */
export function goStrings(list: readonly string[] | null | undefined, type = "string"): GoText {
  if (!list) return goValue(`[]${type}(nil)`);
  return goValue(`[]${type}{${list.map((one) => JSON.stringify(one)).join(", ")}}`);
}

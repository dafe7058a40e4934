import { isIPv6 } from "node:net";
import type { NodeObject } from "../../../../staging/apimachinery/api/node.js";
import { isTerminating, nameOf, type PodObject, type Service } from "../../../../staging/apimachinery/api/objects.js";
import { findPort, isPodReady } from "../../../../staging/apimachinery/api/pod.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import { defined } from "../../../../util/defined.js";
import { newControllerRef } from "../../support/controller-ref.js";
import { namePrefix } from "../../support/pod-control.js";
import { podIpsOf, shouldSetHostname } from "../util/service-selector-cache.js";
import { type Endpoint, type EndpointPort, type EndpointSlice, MANAGED_BY, SERVICE_NAME } from "../util/slices.js";

/** Mirrors pkg/controller/endpointslice/utils.go. */

export const CONTROLLER_NAME = "endpointslice-controller.k8s.io";
const HEADLESS = "service.kubernetes.io/headless";
const RESERVED_LABELS: readonly string[] = [SERVICE_NAME, MANAGED_BY, HEADLESS];
const ZONE = "topology.kubernetes.io/zone";

export type AddressType = "IPv4" | "IPv6";

/** Mirrors podToEndpoint. @param node undefined if it does not exist */
export function podToEndpoint(
  pod: PodObject,
  node: NodeObject | undefined,
  service: Service,
  addressType: AddressType,
): Endpoint {
  const serving = isPodReady(pod);
  const terminating = isTerminating(pod);
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating);
  const { namespace, uid } = pod.metadata;
  const { nodeName = "", hostname } = pod.spec ?? {};
  const zone = node?.metadata.labels?.[ZONE] ?? "";
  return {
    addresses: podIpsOf(pod).filter((ip) => isIPv6(ip) === (addressType === "IPv6")),
    conditions: { ready, serving, terminating },
    ...(shouldSetHostname(pod, service) ? defined({ hostname }) : {}),
    targetRef: { kind: "Pod", name: nameOf(pod), ...defined({ namespace, uid }) },
    ...(nodeName === "" ? {} : { nodeName }),
    ...(zone === "" ? {} : { zone }),
  };
}

/** Ports that the pod does not have are left out. Mirrors getEndpointPorts. */
export function endpointPorts({ spec }: Service, pod: PodObject): EndpointPort[] {
  return (spec?.ports ?? []).flatMap((port) => {
    const number = findPort(pod, port);
    if (number === undefined) return [];
    const { name = "", protocol = "TCP", appProtocol } = port;
    return [{ name, protocol, port: number, ...defined({ appProtocol }) }];
  });
}

/** Mirrors newEndpointSlice. */
export function newEndpointSlice(
  service: Service,
  addressType: AddressType,
  ports: readonly EndpointPort[],
): EndpointSlice {
  const { namespace } = service.metadata;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      generateName: namePrefix(nameOf(service)),
      ...defined({ namespace }),
      labels: sliceLabels(service),
      ownerReferences: [newControllerRef({ ...service, apiVersion: "v1", kind: "Service" })],
    },
    addressType,
    // An empty list is null on the wire of a real API server.
    endpoints: null as unknown as Endpoint[],
    ports: ports.length === 0 ? (null as unknown as EndpointPort[]) : ports,
  };
}

/** The labels of the service, without those that slices reserve. Mirrors setEndpointSliceLabels. */
export function sliceLabels({ metadata, spec }: Service): Record<string, string> {
  const { clusterIP: clusterIp = "" } = spec ?? {};
  return {
    ...withoutReserved(metadata.labels),
    [SERVICE_NAME]: metadata.name ?? "",
    [MANAGED_BY]: CONTROLLER_NAME,
    ...(clusterIp === "" || clusterIp === "None" ? { [HEADLESS]: "" } : {}),
  };
}

/** A change of a reserved label alone leads to no update. */
export function labelsChanged(slice: EndpointSlice, service: Service): boolean {
  return !semanticallyEqual(withoutReserved(slice.metadata.labels), withoutReserved(service.metadata.labels));
}

function withoutReserved(labels: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(labels ?? {}).filter(([key]) => !RESERVED_LABELS.includes(key)));
}

/** Mirrors ownedBy. */
export function isOwnedBy({ metadata }: EndpointSlice, service: Service): boolean {
  const owners = metadata.ownerReferences ?? [];
  return owners.some(
    ({ apiVersion, kind, uid }) => apiVersion === "v1" && kind === "Service" && uid === service.metadata.uid,
  );
}

/** Mirrors getAddressTypesForService. */
export function addressTypesOf({ spec }: Service): AddressType[] {
  const families = (spec?.ipFamilies ?? []).filter((one) => one === "IPv4" || one === "IPv6");
  return families.length === 0 ? ["IPv4"] : (families as AddressType[]);
}

/** Mirrors getSliceToFill: the slice that is fullest afterwards; undefined if none has room for all. */
export function sliceToFill(
  slices: readonly EndpointSlice[],
  count: number,
  maxEndpoints: number,
): EndpointSlice | undefined {
  let closest: EndpointSlice | undefined;
  let closestDiff = maxEndpoints;
  for (const slice of slices) {
    const diff = maxEndpoints - (count + (slice.endpoints?.length ?? 0));
    if (diff < 0 || diff >= closestDiff) continue;
    [closest, closestDiff] = [slice, diff];
  }
  return closest;
}

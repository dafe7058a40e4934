import { isIPv6 } from "node:net";
import { nameOf, type PodObject, type Service } from "../../../../staging/apimachinery/api/objects.js";
import { findPort, isPodReady } from "../../../../staging/apimachinery/api/pod.js";
import { defined } from "../../../../util/defined.js";
import { podIpsOf, shouldPodBeInEndpoints, shouldSetHostname } from "../util/service-selector-cache.js";
import { type EndpointAddress, type EndpointPort, type EndpointSubset, repackSubsets } from "./repack-subsets.js";

/** Mirrors maxCapacity: what one Endpoints object can hold. */
export const MAX_CAPACITY = 1_000;
const TOLERATE_UNREADY = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

/** The endpoints of a service, from the pods that it selects. Pure. Mirrors the middle of syncService. */
export function subsetsFor(service: Service, pods: readonly PodObject[]): EndpointSubset[] {
  const toleratesUnready = tolerates(service);
  const subsets: EndpointSubset[] = [];
  for (const pod of pods) {
    if (!shouldPodBeInEndpoints(pod, toleratesUnready)) continue;
    const address = addressFor(service, pod);
    if (address === undefined) continue;
    const isReady = toleratesUnready || isPodReady(pod);
    for (const port of portsFor(service, pod)) {
      const ports = port === undefined ? {} : { ports: [port] };
      subsets.push(isReady ? { addresses: [address], ...ports } : { notReadyAddresses: [address], ...ports });
    }
  }
  return repackSubsets(subsets);
}

/** The old annotation has precedence over the field. */
function tolerates({ metadata, spec }: Service): boolean {
  const annotation = metadata.annotations?.[TOLERATE_UNREADY];
  if (annotation === "true" || annotation === "1") return true;
  if (annotation === "false" || annotation === "0") return false;
  return spec?.publishNotReadyAddresses === true;
}

/** Mirrors podToEndpointAddressForService. @returns undefined if the pod has no address of the service's family */
function addressFor(service: Service, pod: PodObject): EndpointAddress | undefined {
  const wantsIpv6 = service.spec?.ipFamilies?.[0] === "IPv6";
  const ip = podIpsOf(pod).find((one) => isIPv6(one) === wantsIpv6);
  if (ip === undefined) return undefined;
  const { namespace, uid } = pod.metadata;
  return {
    ip,
    ...(shouldSetHostname(pod, service) ? defined({ hostname: pod.spec?.hostname }) : {}),
    nodeName: pod.spec?.nodeName ?? "",
    targetRef: { kind: "Pod", name: nameOf(pod), ...defined({ namespace, uid }) },
  };
}

/** `undefined` in the list: a headless service without ports. */
function portsFor({ spec }: Service, pod: PodObject): (EndpointPort | undefined)[] {
  const ports = spec?.ports ?? [];
  if (ports.length === 0) return spec?.clusterIP === "None" ? [undefined] : [];
  return ports.flatMap((port) => {
    const number = findPort(pod, port);
    if (number === undefined) return [];
    const { protocol = "TCP", appProtocol } = port;
    const name = port.name === "" ? undefined : port.name;
    return [{ ...defined({ name, appProtocol }), port: number, protocol }];
  });
}

/** @returns ready and not ready addresses */
export function countAddresses(subsets: readonly EndpointSubset[]): {
  readonly ready: number;
  readonly notReady: number;
} {
  const sum = (field: "addresses" | "notReadyAddresses") =>
    subsets.reduce((total, subset) => total + (subset[field]?.length ?? 0), 0);
  return { ready: sum("addresses"), notReady: sum("notReadyAddresses") };
}

/**
 * Cuts what is above the capacity: not ready addresses first, and from each subset in proportion.
 * Mirrors truncateEndpoints. @returns undefined if everything fits
 */
export function truncateSubsets(subsets: readonly EndpointSubset[]): EndpointSubset[] | undefined {
  const { ready, notReady } = countAddresses(subsets);
  if (ready + notReady <= MAX_CAPACITY) return undefined;
  const cutsReady = ready > MAX_CAPACITY;
  const [max, total] = cutsReady ? [MAX_CAPACITY, ready] : [MAX_CAPACITY - ready, notReady];
  let left = max;
  return subsets.map((subset) => {
    const { addresses = [], notReadyAddresses = [], ...rest } = subset;
    const cut = cutsReady ? addresses : notReadyAddresses;
    const kept = cut.slice(0, Math.min(left, Math.ceil((cut.length / total) * max)));
    left -= kept.length;
    const [shown, hidden] = cutsReady ? [kept, []] : [addresses, kept];
    return {
      ...(shown.length === 0 ? {} : { addresses: shown }),
      ...(hidden.length === 0 ? {} : { notReadyAddresses: hidden }),
      ...rest,
    };
  });
}

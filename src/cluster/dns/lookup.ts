import { isIP } from "node:net";
import { keyOf } from "../../staging/apimachinery/api/object-key.js";
import type { ClusterView, EndpointAddress, Service } from "./cluster-view.js";
import { addressOfReverse, parseName, type RecordRequest } from "./parse-name.js";

/** The target of a name. Mirrors msg.Service in CoreDNS, plugin/etcd/msg/service.go. */
export interface Target {
  /** an address, or the name of an external service */
  readonly host: string;
  /** undefined: not declared */
  readonly port?: number;
  /** the name of exactly this target, for SRV records */
  readonly name: string;
}

/** `names`: nothing has this name (NXDOMAIN). An empty list: the name exists, without records (NODATA). */
export interface Found {
  readonly outcome: "found" | "no such name";
  readonly targets: readonly Target[];
  /** for the trace */
  readonly why: string;
}

function found(targets: readonly Target[], why: string): Found {
  return { outcome: "found", targets, why };
}

function noSuchName(why: string): Found {
  return { outcome: "no such name", targets: [], why };
}

/**
 * Finds the targets of a name in the cluster's zone. Pure.
 *
 * Mirrors Records, findPods and findServices in CoreDNS, plugin/kubernetes/kubernetes.go, with kubeadm's setting `pods insecure`.
 * @param name lower case, in the zone
 */
export function lookUp(view: ClusterView, name: string, zone: string): Found {
  const request = parseName(name, zone);
  if (request === undefined) return noSuchName("no service or pod can have this name");
  const { podOrService, namespace } = request;
  if (podOrService === "") return found([], "it is a part of the zone");
  if (namespace === "") return found([], "it is a part of the zone");
  if (!view.hasNamespace(namespace)) return noSuchName(`there is no namespace ${namespace}`);
  if (request.service === "") return found([], `the namespace ${namespace} has no records itself`);
  return podOrService === "pod" ? findPod(request, name) : findService(view, request, zone);
}

/** The address is in the name, and no pod is looked up. */
function findPod({ service: text }: RecordRequest, name: string): Found {
  const dashes = text.split("-").length - 1;
  const ip = text.replaceAll("-", dashes === 3 && !text.includes("--") ? "." : ":");
  if (isIP(ip) === 0) return noSuchName(`${text} is no address with dashes`);
  return found([{ host: ip, name }], "the name contains the address");
}

function findService(view: ClusterView, request: RecordRequest, zone: string): Found {
  const { namespace, service: name, endpoint, port, protocol } = request;
  const service = view.service(namespace, name);
  if (service === undefined) return noSuchName(`there is no service ${namespace}/${name}`);
  const { spec = {} } = service;
  const own = `${name}.${namespace}.svc.${zone}`;
  const key = keyOf(service);
  if (spec.type === "ExternalName") {
    if (endpoint !== "" || port !== "" || protocol !== "") return noSuchName(`${key} is an external name`);
    return found(
      [{ host: spec.externalName ?? "", name: own }],
      `service ${key} is the external name ${spec.externalName}`,
    );
  }
  const wants = (portName: string, portProtocol: string) =>
    (port === "" || port === portName.toLowerCase()) && (protocol === "" || protocol === portProtocol.toLowerCase());
  if (spec.clusterIP === "None" || endpoint !== "") return findEndpoints(view, request, service, wants, own);
  const ips = spec.clusterIPs ?? [];
  const targets = (spec.ports ?? [])
    .filter((one) => wants(one.name ?? "", one.protocol ?? "TCP"))
    .flatMap((one) => ips.map((host) => ({ host, port: one.port, name: own })));
  if (targets.length === 0) return noSuchName(`service ${key} has no such port`);
  return found(targets, `service ${key} has the cluster IP ${ips.join(", ")}`);
}

function findEndpoints(
  view: ClusterView,
  { namespace, service: name, endpoint }: RecordRequest,
  service: Service,
  wants: (port: string, protocol: string) => boolean,
  own: string,
): Found {
  const key = keyOf(service);
  const all = view.endpointsOf(namespace, name);
  const named = endpoint === "" ? all : all.filter((one) => endpointName(one) === endpoint);
  const targets = named.flatMap((one): Target[] => {
    const base = { host: one.ip, name: `${endpointName(one)}.${own}` };
    // An endpoint without ports has addresses only.
    if (one.ports.length === 0) return wants("", "") ? [base] : [];
    return one.ports.filter((port) => wants(port.name, port.protocol)).map(({ port }) => ({ ...base, port }));
  });
  const count = `${all.length} ready ${all.length === 1 ? "endpoint" : "endpoints"}`;
  if (targets.length === 0) {
    return noSuchName(`service ${key} has ${count}${endpoint === "" ? "" : `, none of them is ${endpoint}`}`);
  }
  return found(
    targets,
    endpoint === "" ? `service ${key} is headless: ${count}` : `it is an endpoint of service ${key}`,
  );
}

/** Mirrors endpointHostname in CoreDNS, plugin/kubernetes/kubernetes.go. */
function endpointName({ hostname, ip }: EndpointAddress): string {
  return hostname === "" ? ip.replaceAll(/[.:]/g, "-") : hostname.toLowerCase();
}

/**
 * Finds the names of an address: its service, or the endpoints that have a host name.
 * Mirrors Reverse and serviceRecordForIP in CoreDNS, plugin/kubernetes/reverse.go.
 */
export function lookUpReverse(view: ClusterView, name: string, zone: string): Found {
  const ip = addressOfReverse(name);
  if (ip === undefined) return noSuchName("it is no whole address");
  const service = view.serviceByIp(ip);
  if (service !== undefined) {
    const { namespace, name: serviceName } = service.metadata;
    const host = `${serviceName}.${namespace}.svc.${zone}`;
    return found([{ host, name }], `${ip} is the cluster IP of service ${keyOf(service)}`);
  }
  const named = view.endpointsByIp(ip).filter(({ hostname }) => hostname !== "");
  if (named.length === 0) return noSuchName(`no service and no endpoint with a host name has the address ${ip}`);
  const targets = named.map((one) => {
    const [namespace = "", serviceName = ""] = one.service.split("/");
    return { host: `${endpointName(one)}.${serviceName}.${namespace}.svc.${zone}`, name };
  });
  return found(targets, `${ip} is an endpoint of ${named.map((one) => one.service).join(", ")}`);
}

import { isIPv6 } from "node:net";
import type { KubeObject } from "../../staging/apimachinery/api/meta.js";

/** The fields of a Service that its variables need. */
export interface ServiceObject extends KubeObject {
  readonly spec?: {
    readonly clusterIP?: string;
    readonly ports?: readonly ServicePort[] | null;
    readonly [field: string]: unknown;
  };
}

interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
}

/** The namespace whose `kubernetes` service every pod gets. Mirrors masterServices in pkg/kubelet/kubelet_pods.go. */
const MASTER_SERVICE_NAMESPACE = "default";
const MASTER_SERVICES = new Set(["kubernetes"]);

/**
 * The variables of the services that a pod of this namespace gets: `FOO_SERVICE_HOST`, `FOO_PORT_80_TCP_ADDR`, ...
 * Pure.
 *
 * Mirrors getServiceEnvVarMap in pkg/kubelet/kubelet_pods.go.
 * @param enableServiceLinks false: only the API server's
 */
export function serviceEnvironment(
  services: readonly ServiceObject[],
  namespace: string,
  enableServiceLinks: boolean,
): Map<string, string> {
  const byName = new Map<string, ServiceObject>();
  for (const service of services) {
    const { name = "" } = service.metadata;
    if (!hasClusterIp(service)) continue;
    const isMaster = service.metadata.namespace === MASTER_SERVICE_NAMESPACE && MASTER_SERVICES.has(name);
    const isOwn = service.metadata.namespace === namespace && enableServiceLinks;
    // A service of that name in the pod's own namespace takes precedence.
    if (isOwn || (isMaster && !byName.has(name))) byName.set(name, service);
  }
  const names = [...byName.keys()].sort();
  return new Map(names.flatMap((name) => variablesOf(byName.get(name))));
}

function hasClusterIp({ spec }: ServiceObject): boolean {
  return spec?.clusterIP !== undefined && spec.clusterIP !== "" && spec.clusterIP !== "None";
}

/** Mirrors FromServices and makeLinkVariables in pkg/kubelet/envvars/envvars.go. */
function variablesOf(service: ServiceObject | undefined): [string, string][] {
  const host = service?.spec?.clusterIP ?? "";
  const prefix = variableName(service?.metadata.name ?? "");
  const ports = service?.spec?.ports ?? [];
  const [first] = ports;
  const variables: [string, string][] = [[`${prefix}_SERVICE_HOST`, host]];
  if (first !== undefined) variables.push([`${prefix}_SERVICE_PORT`, String(first.port)]);
  for (const { name = "", port } of ports) {
    if (name !== "") variables.push([`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port)]);
  }
  for (const [i, { port, protocol = "TCP" }] of ports.entries()) {
    const scheme = protocol.toLowerCase();
    const url = `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
    // Docker set this one for the first port only.
    if (i === 0) variables.push([`${prefix}_PORT`, url]);
    const link = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    variables.push([link, url], [`${link}_PROTO`, scheme], [`${link}_PORT`, String(port)], [`${link}_ADDR`, host]);
  }
  return variables;
}

function variableName(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}

import type { Service } from "../../../../../staging/apimachinery/api/objects.js";
import { internalError, invalid, type StatusError } from "../../../../../staging/apimachinery/errors.js";
import type { Random } from "../../../../../util/random.js";
import { invalidValue } from "../../rest/field-errors.js";
import { IpAllocator, SERVICE_CIDR } from "./ip-allocator.js";
import { initIpFamilies } from "./ip-families.js";
import { PortAllocationOperation, PortAllocator } from "./port-allocator.js";
import {
  CLUSTER_IP_NONE,
  goStrings,
  isHeadless,
  needsClusterIp,
  needsHealthCheck,
  needsNodePort,
  nodePortsOf,
  type ServiceDraft,
} from "./service.js";

const SERVICE = { group: "", kind: "Service" };

/** What a write allocates and gives back. Mirrors transaction.go in pkg/registry/core/service/storage. */
export interface Transaction {
  readonly allocated: readonly string[];
  readonly released: readonly string[];
  commit(): void;
  revert(): void;
}

/**
 * The cluster IPs and node ports of all services.
 *
 * Mirrors pkg/registry/core/service/storage/alloc.go (Allocators). Differs: addresses are IPv4 only, so a service has one
 * at most.
 */
export class Allocators {
  readonly ips: IpAllocator;
  readonly ports: PortAllocator;

  constructor(random: Random, kubeVersion: string) {
    this.ips = new IpAllocator(SERVICE_CIDR, random);
    this.ports = new PortAllocator(random, kubeVersion);
  }

  /** Marks what a stored service has. Mirrors repair.go in pkg/registry/core/service/ipallocator/controller. */
  occupy(service: Service): void {
    for (const ip of addressesOf(service)) this.ips.allocate(ip, false);
    for (const port of allPortsOf(service)) this.ports.allocate(port);
  }

  /** Marks what another server has allocated. @param number an address or a port */
  occupyNumber(number: string): void {
    if (isAddress(number)) this.ips.allocate(number, false);
    else this.ports.allocate(Number(number));
  }

  hasNumber(number: string): boolean {
    return isAddress(number) ? this.ips.has(number) : this.ports.has(Number(number));
  }

  /** Mirrors releaseAllocatedResources. */
  release(service: Service): string[] {
    const [ips, ports] = [addressesOf(service), allPortsOf(service)];
    for (const ip of ips) this.ips.release(ip);
    for (const port of ports) this.ports.release(port);
    return [...ips, ...ports.map(String)];
  }

  /** Mirrors allocateCreate. @throws StatusError 422 */
  allocateCreate(draft: ServiceDraft, isDryRun: boolean): Transaction {
    return this.#transaction(isDryRun, (ports) => {
      initFamilies(draft, undefined);
      const ips = this.#allocClusterIp(draft, isDryRun);
      return { ips, freedIps: [], fill: () => this.#allocNodePorts(draft, ports) };
    });
  }

  /** Mirrors allocateUpdate. @throws StatusError 422 */
  allocateUpdate(draft: ServiceDraft, old: Service, isDryRun: boolean): Transaction {
    return this.#transaction(isDryRun, (ports) => {
      initFamilies(draft, old);
      const isNew = !needsClusterIp(old) && needsClusterIp(draft as Service);
      const isGone = needsClusterIp(old) && !needsClusterIp(draft as Service);
      const ips = isNew ? this.#allocClusterIp(draft, isDryRun) : [];
      return { ips, freedIps: isGone ? addressesOf(old) : [], fill: () => this.#updateNodePorts(draft, old, ports) };
    });
  }

  #transaction(
    isDryRun: boolean,
    begin: (ports: PortAllocationOperation) => {
      readonly ips: readonly string[];
      readonly freedIps: readonly string[];
      fill(): void;
    },
  ): Transaction {
    const ports = new PortAllocationOperation(this.ports, isDryRun);
    const { ips, freedIps, fill } = begin(ports);
    const releaseIps = (all: readonly string[]) => {
      if (!isDryRun) for (const ip of all) this.ips.release(ip);
    };
    const revert = () => {
      releaseIps(ips);
      ports.revert();
    };
    try {
      fill();
    } catch (error) {
      revert();
      throw error;
    }
    return {
      allocated: [...ips, ...ports.allocated.map(String)],
      released: [...freedIps, ...ports.released.map(String)],
      commit() {
        releaseIps(freedIps);
        ports.commit();
      },
      revert,
    };
  }

  /** Mirrors allocClusterIPs. @returns what it allocated */
  #allocClusterIp(draft: ServiceDraft, isDryRun: boolean): string[] {
    const { spec, metadata } = draft;
    if (!needsClusterIp(draft as Service) || isHeadless(draft as Service)) return [];
    const wanted = spec.clusterIPs?.[0] ?? "";
    const why = wanted === "" ? undefined : this.ips.allocate(wanted, isDryRun);
    if (why !== undefined) {
      const detail = `failed to allocate IP ${wanted}: ${why}`;
      throw invalid(SERVICE, metadata.name ?? "", [
        invalidValue("spec.clusterIPs", goStrings(spec.clusterIPs), detail),
      ]);
    }
    const ip = wanted !== "" ? wanted : isDryRun ? this.ips.network : this.ips.allocateNext();
    if (ip === undefined) throw failed("failed to allocate a serviceIP: range is full");
    spec.clusterIP = ip;
    spec.clusterIPs = [ip];
    return [ip];
  }

  /** Mirrors txnAllocNodePorts (initNodePorts). */
  #allocNodePorts(draft: ServiceDraft, operation: PortAllocationOperation): void {
    const { spec } = draft;
    /** service port -> its node port: TCP and UDP of one port share it */
    const nodePorts = new Map<number, number>();
    if (needsNodePort(draft as Service)) {
      for (const [index, port] of (spec.ports ?? []).entries()) {
        if (!isSetPort(port.nodePort) && !shouldAllocateNodePorts(draft)) continue;
        const known = nodePorts.get(port.port);
        if (known === undefined) {
          const requested = spec.ports?.find((one) => one.port === port.port && isSetPort(one.nodePort))?.nodePort;
          port.nodePort = requested === undefined ? next(operation) : take(draft, operation, index, requested);
          nodePorts.set(port.port, port.nodePort);
        } else if (!isSetPort(port.nodePort)) port.nodePort = known;
        else if (port.nodePort !== known) take(draft, operation, index, port.nodePort);
      }
    }
    if (needsHealthCheck(draft as Service)) allocHealthCheckNodePort(draft, operation);
  }

  /** Mirrors txnUpdateNodePorts (updateNodePorts, updateHealthCheckNodePort). */
  #updateNodePorts(draft: ServiceDraft, old: Service, operation: PortAllocationOperation): void {
    const before = nodePortsOf(old);
    if (needsNodePort(draft as Service)) {
      const taken = new Set(before);
      for (const [index, port] of (draft.spec.ports ?? []).entries()) {
        if (isSetPort(port.nodePort)) {
          if (!taken.has(port.nodePort)) taken.add(take(draft, operation, index, port.nodePort));
        } else if (shouldAllocateNodePorts(draft)) port.nodePort = next(operation);
      }
      const after = new Set(nodePortsOf(draft as Service));
      for (const port of before) if (!after.has(port)) operation.releaseDeferred(port);
    } else if (needsNodePort(old)) for (const port of before) operation.releaseDeferred(port);
    const [needed, needs] = [needsHealthCheck(old), needsHealthCheck(draft as Service)];
    if (!needed && needs) allocHealthCheckNodePort(draft, operation);
    if (needed && !needs) operation.releaseDeferred(old.spec?.healthCheckNodePort ?? 0);
  }
}

function isAddress(number: string): boolean {
  return number.includes(".");
}

function initFamilies(draft: ServiceDraft, old: Service | undefined): void {
  const errors = initIpFamilies(draft, old);
  if (errors.length > 0) throw invalid(SERVICE, draft.metadata.name ?? "", errors);
}

function isSetPort(port: number | undefined): port is number {
  return port !== undefined && port !== 0;
}

/** @throws StatusError 422 when another service has it */
function take(draft: ServiceDraft, operation: PortAllocationOperation, index: number, port: number): number {
  const why = operation.allocate(port);
  if (why === undefined) return port;
  throw invalid(SERVICE, draft.metadata.name ?? "", [invalidValue(`spec.ports[${index}].nodePort`, port, why)]);
}

function next(operation: PortAllocationOperation): number {
  const port = operation.allocateNext();
  if (port === undefined) throw failed("failed to allocate a nodePort: range is full");
  return port;
}

function allocHealthCheckNodePort({ spec }: ServiceDraft, operation: PortAllocationOperation): void {
  const wanted = spec.healthCheckNodePort;
  if (!isSetPort(wanted)) {
    spec.healthCheckNodePort = operation.allocateNext() ?? 0;
    if (spec.healthCheckNodePort === 0) throw failed("failed to allocate a HealthCheck NodePort 0: range is full");
    return;
  }
  const why = operation.allocate(wanted);
  if (why !== undefined) throw failed(`failed to allocate requested HealthCheck NodePort ${wanted}: ${why}`);
}

function failed(why: string): StatusError {
  return internalError(`Internal error occurred: ${why}`, "InternalError");
}

/** Mirrors shouldAllocateNodePorts. */
function shouldAllocateNodePorts({ spec }: ServiceDraft): boolean {
  return spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts === true);
}

function addressesOf(service: Service): string[] {
  if (!needsClusterIp(service)) return [];
  const { clusterIPs, clusterIP = "" } = service.spec ?? {};
  return (clusterIPs ?? [clusterIP]).filter((ip) => ip !== "" && ip !== CLUSTER_IP_NONE);
}

function allPortsOf(service: Service): number[] {
  const healthPort = needsHealthCheck(service) ? (service.spec?.healthCheckNodePort ?? 0) : 0;
  return [...nodePortsOf(service), ...(healthPort === 0 ? [] : [healthPort])];
}

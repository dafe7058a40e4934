import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ServiceRule } from "../netfilter/rules.js";
import type { EndpointsMap } from "./endpoint-slice-cache.js";
import type { ServiceMap } from "./service.js";

/** A Service whose load balancer asks each node whether it has endpoints. */
interface HealthCheck {
  /** the node port of the check */
  readonly port: number;
  /** ready endpoints on this node */
  localEndpoints: number;
}

interface Instance {
  readonly check: HealthCheck;
  readonly server: Server;
}

/**
 * The checks of Services with externalTrafficPolicy Local: by Service, with the number of addresses on this node.
 * Pure. Mirrors UpdateServiceMap (HCServiceNodePorts) and UpdateEndpointsMap (HCEndpointsLocalIPSize) in pkg/proxy.
 */
export function healthChecks(services: ServiceMap, endpoints: EndpointsMap): ReadonlyMap<string, HealthCheck> {
  const checks = new Map<string, HealthCheck>();
  for (const { service, healthCheckNodePort } of services.values()) {
    if (healthCheckNodePort === undefined || checks.has(service)) continue;
    const ofService = [...services].filter(([, port]) => port.service === service);
    const all = ofService.flatMap(([key]) => endpoints.get(key) ?? []);
    const local = new Set(all.filter(({ isLocal, isReady }) => isLocal && isReady).map(({ ip }) => ip));
    checks.set(service, { port: healthCheckNodePort, localEndpoints: local.size });
  }
  return checks;
}

/**
 * Answers at the health check node ports of Services: 200 if this node has endpoints, 503 if not.
 *
 * Mirrors pkg/proxy/healthcheck/service_health.go. Differs: it listens at free ports of this machine, to which rules of
 * the node lead, because the nodes of a cluster share the machine.
 */
export class ServiceHealthServer {
  readonly #instances = new Map<string, Instance>();

  /** Opens and closes servers until each Service has one. @returns the rules that lead to them. Mirrors SyncServices, SyncEndpoints. */
  async sync(checks: ReadonlyMap<string, HealthCheck>): Promise<readonly ServiceRule[]> {
    for (const [service, { server, check }] of this.#instances) {
      if (checks.get(service)?.port === check.port) continue;
      this.#instances.delete(service);
      close(server);
    }
    const rules: ServiceRule[] = [];
    for (const [service, { port, localEndpoints }] of checks) {
      const instance = this.#instances.get(service) ?? (await open(service, port));
      this.#instances.set(service, instance);
      instance.check.localEndpoints = localEndpoints;
      const at = instance.server.address() as AddressInfo;
      const verdict = { kind: "listener", endpoint: `127.0.0.1:${at.port}`, why: "kube-proxy answers" } as const;
      rules.push({ service, protocol: "tcp", address: "health check", port, verdict });
    }
    return rules.sort((a, b) => (a.service < b.service ? -1 : 1));
  }

  close(): void {
    for (const { server } of this.#instances.values()) close(server);
    this.#instances.clear();
  }
}

async function open(service: string, port: number): Promise<Instance> {
  const check: HealthCheck = { port, localEndpoints: 0 };
  const [namespace = "", name = ""] = service.split("/");
  const server = createServer((request, response) => {
    request.resume();
    const { localEndpoints } = check;
    const headers = { "Content-Type": "application/json", "X-Content-Type-Options": "nosniff" };
    response.writeHead(localEndpoints === 0 ? 503 : 200, headers);
    response.end(JSON.stringify({ service: { namespace, name }, localEndpoints }, undefined, "\t"));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return { check, server };
}

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}

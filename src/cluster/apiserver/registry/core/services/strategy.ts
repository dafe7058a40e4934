import { isDns1035Label } from "../../../../../staging/apimachinery/api/names.js";
import type { Service } from "../../../../../staging/apimachinery/api/objects.js";
import type { Draft } from "../../../../../util/draft.js";
import type { Strategy } from "../../rest/definition.js";
import { specAndStatus } from "../../rest/stored.js";
import {
  isExternallyAccessible,
  needsClusterIp,
  needsHealthCheck,
  needsNodePort,
  nodePortsOf,
  sameList,
} from "./service.js";
import { validateService, validateServiceUpdate } from "./validation.js";

type Spec = NonNullable<Service["spec"]>;

/** Mirrors pkg/registry/core/service/strategy.go. Addresses and ports are allocated before it runs (storage.ts). */
export const serviceStrategy: Strategy = specAndStatus({
  freshStatus: () => ({ loadBalancer: {} }),
  strategy: {
    validateName: isDns1035Label,
    allowCreateOnUpdate: true,
    prepareForUpdate: (service: Service, old: Service) => dropTypeDependentFields(service, old),
    validate: (service: Service) => validateService(service),
    validateUpdate: (service: Service, old: Service) => validateServiceUpdate(service, old),
  },
});

/**
 * Clears the fields that the new type does not use, unless the client changed them: then validation reports them.
 * Mirrors dropTypeDependentFields.
 */
function dropTypeDependentFields(service: Service, old: Service): Service {
  const before = old.spec ?? {};
  const spec: Draft<Spec> = { ...service.spec };
  if (needsClusterIp(old) && !needsClusterIp(service)) {
    if (before.clusterIP === spec.clusterIP && sameList(before.clusterIPs, spec.clusterIPs)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (sameList(before.ipFamilies, spec.ipFamilies)) delete spec.ipFamilies;
    if (before.ipFamilyPolicy === spec.ipFamilyPolicy) delete spec.ipFamilyPolicy;
  }
  if (needsNodePort(old) && !needsNodePort(service)) {
    const known = new Set(nodePortsOf(old));
    if (nodePortsOf(service).every((port) => known.has(port))) {
      spec.ports = (spec.ports ?? []).map(({ nodePort: _dropped, ...port }) => port);
    }
  }
  const sameHealthPort = before.healthCheckNodePort === spec.healthCheckNodePort;
  if (needsHealthCheck(old) && !needsHealthCheck(service) && sameHealthPort) delete spec.healthCheckNodePort;
  if (before.type === "LoadBalancer" && spec.type !== "LoadBalancer") {
    if (before.allocateLoadBalancerNodePorts === spec.allocateLoadBalancerNodePorts) {
      delete spec.allocateLoadBalancerNodePorts;
    }
    if (before.loadBalancerClass === spec.loadBalancerClass) delete spec.loadBalancerClass;
  }
  const samePolicy = before.externalTrafficPolicy === spec.externalTrafficPolicy;
  if (isExternallyAccessible(old) && !isExternallyAccessible(service) && samePolicy) delete spec.externalTrafficPolicy;
  if (spec.type === "LoadBalancer") return { ...service, spec };
  return { ...service, spec, status: { ...service.status, loadBalancer: {} } };
}

import type { V1Service } from "@kubernetes/client-node";
import type { Wire } from "../../apimachinery/wire.js";
import { countName, type Evaluator, intersection, WITHOUT_SCOPES } from "./evaluator.js";

const NODE_PORTS = "services.nodeports";
const LOAD_BALANCERS = "services.loadbalancers";
const NAMES = [countName("services"), "services", NODE_PORTS, LOAD_BALANCERS];

/** Measures services: their number, node ports and load balancers. Mirrors pkg/quota/v1/evaluator/core/services.go. */
export const serviceEvaluator: Evaluator = {
  ...WITHOUT_SCOPES,
  resource: "services",
  // The type of a service can change.
  handles: (operation) => operation === "CREATE" || operation === "UPDATE",
  matchingResources: (input) => intersection(input, NAMES),
  usage({ spec }: Wire<V1Service>) {
    const isLoadBalancer = spec?.type === "LoadBalancer";
    return {
      [countName("services")]: "1",
      services: "1",
      [NODE_PORTS]: String(nodePorts(spec)),
      [LOAD_BALANCERS]: isLoadBalancer ? "1" : "0",
    };
  },
};

/** Node ports are not allocated yet, so those that will be are counted. Mirrors portsWithNodePorts. */
function nodePorts(spec: Wire<V1Service>["spec"]): number {
  const { type, ports = [], allocateLoadBalancerNodePorts } = spec ?? {};
  if (type !== "NodePort" && type !== "LoadBalancer") return 0;
  if (type === "NodePort" || allocateLoadBalancerNodePorts !== false) return ports.length;
  return ports.filter(({ nodePort = 0 }) => nodePort !== 0).length;
}

/** Reports whether a change frees node ports or a load balancer. Mirrors GetQuotaServiceType. */
export function changesQuotaType(previous: Wire<V1Service>, service: Wire<V1Service>): boolean {
  const typeOf = ({ spec }: Wire<V1Service>) =>
    spec?.type === "NodePort" || spec?.type === "LoadBalancer" ? spec.type : undefined;
  return typeOf(previous) !== typeOf(service);
}

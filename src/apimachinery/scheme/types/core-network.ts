import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/core/v1/types.go: services and endpoints. */
export const coreNetwork: TypeTable = {
  package: "io.k8s.api.core.v1",
  types: {
    Service: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec ServiceSpec
      3 status ServiceStatus`,
    ServiceSpec: `
      1  ports []ServicePort merge=port
      2  selector map:string
      3  clusterIP string
      18 clusterIPs []string
      4  type string:ServiceType default=ClusterIP
      5  externalIPs []string
      7  sessionAffinity string:ServiceAffinity default=None
      8  loadBalancerIP string
      9  loadBalancerSourceRanges []string
      10 externalName string
      11 externalTrafficPolicy string:ServiceExternalTrafficPolicyType
      12 healthCheckNodePort int32
      13 publishNotReadyAddresses bool
      14 sessionAffinityConfig *SessionAffinityConfig
      19 ipFamilies []string:IPFamily
      17 ipFamilyPolicy *string:IPFamilyPolicyType
      20 allocateLoadBalancerNodePorts *bool
      21 loadBalancerClass *string
      22 internalTrafficPolicy *string:ServiceInternalTrafficPolicyType`,
    ServicePort: `
      1 name string
      2 protocol string:Protocol default=TCP
      6 appProtocol *string
      3 port int32!
      4 targetPort IntOrString
      5 nodePort int32`,
    SessionAffinityConfig: `
      1 clientIP *ClientIPConfig`,
    ClientIPConfig: `
      1 timeoutSeconds *int32`,
    ServiceStatus: `
      1 loadBalancer LoadBalancerStatus
      2 conditions []Condition merge=type`,
    LoadBalancerStatus: `
      1 ingress []LoadBalancerIngress`,
    LoadBalancerIngress: `
      1 ip string
      2 hostname string
      4 ports []PortStatus`,
    PortStatus: `
      1 port int32!
      2 protocol string!
      3 error *string`,
    Endpoints: `
      TypeMeta
      1 metadata ObjectMeta
      2 subsets []EndpointSubset`,
    EndpointSubset: `
      1 addresses []EndpointAddress
      2 notReadyAddresses []EndpointAddress
      3 ports []EndpointPort`,
    EndpointAddress: `
      1 ip string!
      3 hostname string
      4 nodeName *string
      2 targetRef *ObjectReference`,
    EndpointPort: `
      1 name string
      2 port int32!
      3 protocol string:Protocol default=TCP
      4 appProtocol *string`,
  },
};

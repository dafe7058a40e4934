import type { ObjectMeta } from "../../../../../staging/apimachinery/api/meta.js";
import {
  isDns1123Label,
  isDns1123Subdomain,
  isPortName,
  isPortNumber,
  isQualifiedName,
  isValidIp,
  nonSpecialIp,
} from "../../../../../staging/apimachinery/api/names.js";
import type { Service } from "../../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { isSet } from "../../../../../util/records.js";
import {
  duplicate,
  forbidden,
  goValue,
  IMMUTABLE,
  invalidValue,
  notSupported,
  required,
} from "../../rest/field-errors.js";
import { validateLabels } from "../../rest/validate-meta.js";
import { validateClusterIps, validateClusterIpsUpdate, validateIpFamiliesUpdate } from "./cluster-ip-validation.js";
import { isExternallyAccessible, isHeadless, needsHealthCheck } from "./service.js";
import { validateSourceRanges } from "./source-ranges.js";

type ServicePort = NonNullable<NonNullable<NonNullable<Service["spec"]>["ports"]>[number]>;

const TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const SESSION_AFFINITIES = ["ClientIP", "None"];
const PROTOCOLS = ["SCTP", "TCP", "UDP"];
const TRAFFIC_POLICIES = ["Cluster", "Local"];
const KUBELET_PORT = 10_250;
const MAX_AFFINITY_SECONDS = 86_400;

/** Mirrors ValidateService in pkg/apis/core/validation/validation.go. */
export function validateService(service: Service): FieldError[] {
  const { spec = {} } = service;
  const ports = spec.ports ?? [];
  const errors: FieldError[] = [];
  if (ports.length === 0 && !isHeadless(service) && spec.type !== "ExternalName") errors.push(required("spec.ports"));
  errors.push(...validateType(service));
  const names = new Set<string>();
  ports.forEach((port, index) => {
    errors.push(...validatePort(port, `spec.ports[${index}]`, ports.length > 1, names));
  });
  errors.push(...validateLabels(spec.selector as ObjectMeta["labels"], "spec.selector"));
  errors.push(...validateSessionAffinity(service), ...validateClusterIps(service), ...validateExternalIps(service));
  if ((spec.type ?? "") === "") errors.push(required("spec.type"));
  else if (!TYPES.includes(spec.type ?? "")) errors.push(notSupported("spec.type", spec.type, TYPES));
  errors.push(...validateNodePorts(service), ...validatePortsOnce(ports), ...validateSourceRanges(service));
  return [...errors, ...validateLoadBalancerFields(service), ...validateTrafficPolicies(service)];
}

/** Mirrors ValidateServiceUpdate. */
export function validateServiceUpdate(service: Service, old: Service): FieldError[] {
  const errors = [...validateClusterIpsUpdate(service, old), ...validateIpFamiliesUpdate(service, old)];
  const [type, before] = [service.spec?.type, old.spec?.type];
  const loadBalancerClass = service.spec?.loadBalancerClass ?? undefined;
  if (type === "LoadBalancer" && before === "LoadBalancer") {
    if (loadBalancerClass !== (old.spec?.loadBalancerClass ?? undefined)) {
      errors.push(invalidValue("spec.loadBalancerClass", loadBalancerClass, "may not change once set"));
    }
  }
  const hasOtherHealthPort = service.spec?.healthCheckNodePort !== old.spec?.healthCheckNodePort;
  if (needsHealthCheck(service) && needsHealthCheck(old) && hasOtherHealthPort) {
    errors.push(forbidden("spec.healthCheckNodePort", IMMUTABLE));
  }
  return [...errors, ...validateService(service)];
}

/** Mirrors ValidateServiceStatusUpdate (ValidateLoadBalancerStatus). */
export function validateServiceStatus({ status }: Service): FieldError[] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip = "", hostname = "" }, index) => {
    const field = `status.loadBalancer.ingress[${index}]`;
    const errors: FieldError[] = [];
    if (ip !== "" && isValidIp(ip).length > 0) {
      errors.push(invalidValue(`${field}.ip`, ip, "must be a valid IP address"));
    }
    if (hostname === "") return errors;
    errors.push(...isDns1123Subdomain(hostname).map((one) => invalidValue(`${field}.hostname`, hostname, one)));
    if (isValidIp(hostname).length === 0) {
      errors.push(invalidValue(`${field}.hostname`, hostname, "must be a DNS name, not an IP address"));
    }
    return errors;
  });
}

function validateType(service: Service): FieldError[] {
  const { spec = {} } = service;
  const errors: FieldError[] = [];
  switch (spec.type) {
    case "LoadBalancer":
      spec.ports?.forEach(({ port }, index) => {
        if (port !== KUBELET_PORT) return;
        const why = `may not expose port ${KUBELET_PORT} externally since it is used by kubelet`;
        errors.push(invalidValue(`spec.ports[${index}]`, port, why));
      });
      if (isHeadless(service)) errors.push(notHeadless(spec.type));
      return errors;
    case "NodePort":
      return isHeadless(service) ? [notHeadless(spec.type)] : [];
    case "ExternalName": {
      const notSet = "may not be set for ExternalName services";
      if ((spec.clusterIPs ?? []).length > 0) errors.push(forbidden("spec.clusterIPs", notSet));
      if ((spec.ipFamilies ?? []).length > 0) errors.push(forbidden("spec.ipFamilies", notSet));
      if (isSet(spec.ipFamilyPolicy)) errors.push(forbidden("spec.ipFamilyPolicy", notSet));
      const name = (spec.externalName ?? "").replace(/\.$/, "");
      if (name === "") return [...errors, required("spec.externalName")];
      return [...errors, ...isDns1123Subdomain(name).map((one) => invalidValue("spec.externalName", name, one))];
    }
    default:
      return [];
  }
}

function notHeadless(type: string): FieldError {
  return invalidValue("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`);
}

function validatePort(port: ServicePort, field: string, isNameRequired: boolean, names: Set<string>): FieldError[] {
  const { name = "", protocol = "", targetPort = 0, appProtocol } = port;
  const errors: FieldError[] = [];
  if (name === "") {
    if (isNameRequired) errors.push(required(`${field}.name`));
  } else {
    errors.push(...isDns1123Label(name).map((one) => invalidValue(`${field}.name`, name, one)));
    if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
    names.add(name);
  }
  errors.push(...isPortNumber(port.port).map((one) => invalidValue(`${field}.port`, port.port, one)));
  if (protocol === "") errors.push(required(`${field}.protocol`));
  else if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${field}.protocol`, protocol, PROTOCOLS));
  const targetProblems = typeof targetPort === "number" ? isPortNumber(targetPort) : isPortName(String(targetPort));
  errors.push(...targetProblems.map((one) => invalidValue(`${field}.targetPort`, targetPort, one)));
  if (isSet(appProtocol)) {
    errors.push(...isQualifiedName(appProtocol).map((one) => invalidValue(`${field}.appProtocol`, appProtocol, one)));
  }
  return errors;
}

function validateSessionAffinity({ spec = {} }: Service): FieldError[] {
  const { sessionAffinity = "", sessionAffinityConfig: config } = spec;
  const field = "spec.sessionAffinityConfig";
  if (sessionAffinity === "") return [required("spec.sessionAffinity")];
  if (!SESSION_AFFINITIES.includes(sessionAffinity)) {
    return [notSupported("spec.sessionAffinity", sessionAffinity, SESSION_AFFINITIES)];
  }
  if (sessionAffinity === "None") {
    return isSet(config) ? [forbidden(field, "must not be set when session affinity is None")] : [];
  }
  const seconds = config?.clientIP?.timeoutSeconds;
  if (!isSet(seconds)) return [required(field, "when session affinity type is ClientIP")];
  if (seconds > 0 && seconds <= MAX_AFFINITY_SECONDS) return [];
  const why = `must be greater than 0 and less than ${MAX_AFFINITY_SECONDS}`;
  return [invalidValue(`${field}.clientIP.timeoutSeconds`, seconds, why)];
}

function validateExternalIps({ spec = {} }: Service): FieldError[] {
  return (spec.externalIPs ?? []).flatMap((ip, index) => {
    const problems = isValidIp(ip);
    return (problems.length > 0 ? problems : nonSpecialIp(ip)).map((one) =>
      invalidValue(`spec.externalIPs[${index}]`, ip, one),
    );
  });
}

function validateNodePorts({ spec = {} }: Service): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  spec.ports?.forEach(({ nodePort = 0, protocol }, index) => {
    if (nodePort === 0) return;
    const field = `spec.ports[${index}].nodePort`;
    if (spec.type === "ClusterIP") errors.push(forbidden(field, "may not be used when `type` is 'ClusterIP'"));
    if (seen.has(`${protocol} ${nodePort}`)) errors.push(duplicate(field, nodePort));
    seen.add(`${protocol} ${nodePort}`);
  });
  return errors;
}

/** A port may appear once per protocol. */
function validatePortsOnce(ports: readonly ServicePort[]): FieldError[] {
  const seen = new Set<string>();
  return ports.flatMap(({ port, protocol = "" }, index) => {
    const key = `${protocol} ${port}`;
    const isTwice = seen.has(key);
    seen.add(key);
    return isTwice ? [duplicate(`spec.ports[${index}]`, goServicePort(protocol, port))] : [];
  });
}

function goServicePort(protocol: string, port: number) {
  const target = 'intstr.IntOrString{Type:0, IntVal:0, StrVal:""}';
  const fields = `Name:"", Protocol:${JSON.stringify(protocol)}, AppProtocol:(*string)(nil), Port:${port}`;
  return goValue(`core.ServicePort{${fields}, TargetPort:${target}, NodePort:0}`);
}

function validateLoadBalancerFields({ spec = {} }: Service): FieldError[] {
  const only = "may only be used when `type` is 'LoadBalancer'";
  const field = "spec.loadBalancerClass";
  if (spec.type === "LoadBalancer") {
    if (!isSet(spec.allocateLoadBalancerNodePorts)) return [required("allocateLoadBalancerNodePorts")];
    const { loadBalancerClass } = spec;
    if (!isSet(loadBalancerClass)) return [];
    return isQualifiedName(loadBalancerClass).map((one) => invalidValue(field, loadBalancerClass, one));
  }
  return [
    ...(isSet(spec.allocateLoadBalancerNodePorts) ? [forbidden("spec.allocateLoadBalancerNodePorts", only)] : []),
    ...(isSet(spec.loadBalancerClass) ? [forbidden(field, only)] : []),
  ];
}

/** Mirrors validateServiceExternalTrafficPolicy and validateServiceInternalTrafficFieldsValue. */
function validateTrafficPolicies(service: Service): FieldError[] {
  const { externalTrafficPolicy: external = "", healthCheckNodePort = 0, internalTrafficPolicy } = service.spec ?? {};
  const errors: FieldError[] = [];
  const field = "spec.externalTrafficPolicy";
  if (!isExternallyAccessible(service)) {
    if (external !== "") {
      errors.push(invalidValue(field, external, "may only be set for externally-accessible services"));
    }
  } else if (external === "") errors.push(required(field));
  else if (!TRAFFIC_POLICIES.includes(external)) errors.push(notSupported(field, external, TRAFFIC_POLICIES));
  const healthField = "spec.healthCheckNodePort";
  if (needsHealthCheck(service)) {
    if (healthCheckNodePort === 0) errors.push(required(healthField));
    else {
      errors.push(
        ...isPortNumber(healthCheckNodePort).map((one) => invalidValue(healthField, healthCheckNodePort, one)),
      );
    }
  } else if (healthCheckNodePort !== 0) {
    const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.push(invalidValue(healthField, healthCheckNodePort, why));
  }
  const internalField = "spec.internalTrafficPolicy";
  if (!isSet(internalTrafficPolicy)) {
    if (service.spec?.type !== "ExternalName") errors.push(required(internalField));
  } else if (!TRAFFIC_POLICIES.includes(internalTrafficPolicy)) {
    errors.push(notSupported(internalField, internalTrafficPolicy, TRAFFIC_POLICIES));
  }
  return errors;
}

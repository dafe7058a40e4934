import { type DefaultsFunction, type MutableStruct, structOf, structsOf } from "./struct.js";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Mirrors pkg/apis/core/v1/defaults.go, pkg/apis/rbac/v1/defaults.go, and the conversions that drop or move fields. */
export const coreDefaults: Readonly<Record<string, DefaultsFunction>> = {
  Secret(secret) {
    if (secret.stringData === undefined) return;
    const encoded = Object.entries(structOf(secret.stringData)).map(([key, value]) => [
      key,
      Buffer.from(String(value)).toString("base64"),
    ]);
    secret.data = { ...structOf(secret.data), ...Object.fromEntries(encoded) };
    delete secret.stringData;
  },

  Namespace(namespace) {
    const metadata = structOf(namespace.metadata);
    if (metadata.name === undefined) return;
    metadata.labels = { ...structOf(metadata.labels), "kubernetes.io/metadata.name": metadata.name };
  },

  /** Mirrors Convert_v1_NodeSpec_To_core_NodeSpec: the single range overrides the list. */
  NodeSpec(spec) {
    const first = Array.isArray(spec.podCIDRs) ? spec.podCIDRs[0] : undefined;
    if (spec.podCIDR === undefined) {
      if (first !== undefined) spec.podCIDR = first;
    } else if (spec.podCIDR !== first) spec.podCIDRs = [spec.podCIDR];
  },

  NodeStatus(status) {
    if (status.capacity !== undefined) status.allocatable ??= { ...structOf(status.capacity) };
  },

  /** Mirrors SetDefaults_ReplicationController: the template's labels are the default selector and labels. */
  ReplicationController(controller) {
    const spec = structOf(controller.spec);
    const { labels } = structOf(structOf(spec.template).metadata);
    if (labels === undefined) return;
    if (isEmpty(spec.selector)) spec.selector = { ...structOf(labels) };
    const metadata = structOf(controller.metadata);
    if (isEmpty(metadata.labels)) metadata.labels = { ...structOf(labels) };
  },

  PersistentVolumeClaim: (claim) => setPhase(claim, "Pending"),
  PersistentVolume(volume) {
    setPhase(volume, "Pending");
    const spec = structOf(volume.spec);
    spec.persistentVolumeReclaimPolicy ??= "Retain";
    spec.volumeMode ??= "Filesystem";
  },

  LimitRangeItem(item) {
    if (item.type !== "Container") return;
    const defaults = { ...structOf(item.max), ...structOf(item.default) };
    const requests = { ...structOf(item.min), ...defaults, ...structOf(item.defaultRequest) };
    if (Object.keys(defaults).length > 0) item.default = defaults;
    if (Object.keys(requests).length > 0) item.defaultRequest = requests;
  },

  ServiceSpec: setServiceDefaults,

  Subject(subject) {
    if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ??= RBAC_GROUP;
  },
  RoleRef(reference) {
    reference.apiGroup ||= RBAC_GROUP;
  },
};

function isEmpty(map: unknown): boolean {
  return Object.keys(structOf(map)).length === 0;
}

function setPhase(object: MutableStruct, phase: string): void {
  structOf(object.status).phase ??= phase;
}

const CLIENT_IP_SECONDS = 10_800;

/** Mirrors SetDefaults_Service. */
function setServiceDefaults(spec: MutableStruct): void {
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === "ClientIP") {
    const clientIp = structOf(structOf(spec.sessionAffinityConfig).clientIP);
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: clientIp.timeoutSeconds ?? CLIENT_IP_SECONDS } };
  }
  for (const port of structsOf(spec.ports)) if (!port.targetPort) port.targetPort = port.port;
  const isExternal =
    spec.type === "LoadBalancer" ||
    spec.type === "NodePort" ||
    (spec.type === "ClusterIP" && Array.isArray(spec.externalIPs) && spec.externalIPs.length > 0);
  if (isExternal) spec.externalTrafficPolicy ??= "Cluster";
  if (spec.type !== "ExternalName") spec.internalTrafficPolicy ??= "Cluster";
  if (spec.type === "LoadBalancer") spec.allocateLoadBalancerNodePorts ??= true;
}

import { parseImageName } from "../../image-name.js";
import { type DefaultsFunction, type MutableStruct, structOf, structsOf } from "./struct.js";

/** Mirrors SetDefaults_Pod and others in pkg/apis/core/v1/defaults.go, and conversion.go in the same folder. */
export const podDefaults: Readonly<Record<string, DefaultsFunction>> = {
  Pod(pod) {
    const spec = structOf(pod.spec);
    const containers = [...structsOf(spec.initContainers), ...structsOf(spec.containers)];
    for (const container of containers) requestWhatIsLimited(structOf(container.resources));
    spec.enableServiceLinks ??= true;
    if (spec.hostNetwork === true) containers.forEach(useHostPorts);
  },

  PodSpec(spec) {
    const name = spec.serviceAccountName || spec.serviceAccount;
    if (name === undefined) return;
    spec.serviceAccountName = name;
    spec.serviceAccount = name;
  },

  /** Mirrors Convert_v1_PodStatus_To_core_PodStatus: the single address overrides the list. */
  PodStatus(status) {
    const first = structsOf(status.podIPs)[0]?.ip;
    if (status.podIP === undefined) {
      if (first !== undefined) status.podIP = first;
    } else if (status.podIP !== first) status.podIPs = [{ ip: status.podIP }];
  },

  Container: setImagePullPolicy,
  EphemeralContainer: setImagePullPolicy,

  Volume(volume) {
    if (Object.keys(volume).length < 2) volume.emptyDir = {};
  },
};

/** Missing requests default to the limits. */
function requestWhatIsLimited(resources: MutableStruct): void {
  const limits = structOf(resources.limits);
  if (resources.limits === undefined) return;
  resources.requests = { ...limits, ...structOf(resources.requests) };
}

function useHostPorts(container: MutableStruct): void {
  for (const port of structsOf(container.ports)) port.hostPort ??= port.containerPort;
}

function setImagePullPolicy(container: MutableStruct): void {
  container.imagePullPolicy ??= isLatest(String(container.image ?? "")) ? "Always" : "IfNotPresent";
}

/** Whether an image's tag is `latest`, given or by default. Mirrors ParseImageName in pkg/util/parsers. */
function isLatest(image: string): boolean {
  const parsed = parseImageName(image);
  return parsed.outcome === "ok" && /:latest(?:@|$)/.test(parsed.name.image);
}

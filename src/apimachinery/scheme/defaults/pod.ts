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
  container.imagePullPolicy ??= imageTag(String(container.image ?? "")) === "latest" ? "Always" : "IfNotPresent";
}

const DOMAIN = /[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\d+)?/;
const COMPONENT = /[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*/;
const REFERENCE = new RegExp(
  `^(?:${DOMAIN.source}/)?${COMPONENT.source}(?:/${COMPONENT.source})*` +
    "(?::(?<tag>\\w[\\w.-]{0,127}))?(?<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$",
);

/** @returns `latest` without tag or digest, "" for an invalid name. Mirrors pkg/util/parsers (ParseImageName). */
function imageTag(image: string): string {
  const groups = image.length > 1000 ? undefined : REFERENCE.exec(image)?.groups;
  if (groups === undefined) return "";
  return groups.tag ?? (groups.digest === undefined ? "latest" : "");
}

import {
  badValues,
  type Check,
  type CheckedPod,
  type CheckPod,
  containersOf,
  containersWith,
  counted,
  plural,
  quoted,
  sorted,
  type Violation,
} from "./check.js";
import { seccompFieldCheck } from "./seccomp.js";

/** The volumes that do not reach outside the pod and the cluster's storage. */
const ALLOWED_VOLUMES = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
] as const;

/** In the order in which upstream looks for them. */
const RESTRICTED_VOLUMES = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "gitRepo",
  "nfs",
  "iscsi",
  "glusterfs",
  "rbd",
  "flexVolume",
  "cinder",
  "cephfs",
  "flocker",
  "fc",
  "azureFile",
  "vsphereVolume",
  "quobyte",
  "azureDisk",
  "photonPersistentDisk",
  "portworxVolume",
  "scaleIO",
  "storageos",
] as const;

/** The checks that the restricted level adds, by their IDs. Mirrors k8s.io/pod-security-admission/policy. */
export const RESTRICTED: readonly Check[] = [
  {
    id: "allowPrivilegeEscalation",
    versions: [
      { since: 8, check: allowPrivilegeEscalation },
      { since: 25, check: unlessWindows(allowPrivilegeEscalation) },
    ],
  },
  {
    id: "capabilities_restricted",
    overrides: "capabilities_baseline",
    versions: [
      { since: 22, check: capabilities },
      { since: 25, check: unlessWindows(capabilities) },
    ],
  },
  { id: "restrictedVolumes", overrides: "hostPathVolumes", versions: [{ since: 0, check: restrictedVolumes }] },
  { id: "runAsNonRoot", versions: [{ since: 0, check: runAsNonRoot }] },
  { id: "runAsUser", versions: [{ since: 23, check: runAsUser }] },
  {
    id: "seccompProfile_restricted",
    overrides: "seccompProfile_baseline",
    versions: [
      { since: 19, check: seccompProfile },
      { since: 25, check: unlessWindows(seccompProfile) },
    ],
  },
];

/** Windows pods cannot set what these checks require. */
function unlessWindows(check: CheckPod): CheckPod {
  return (pod) => (pod.spec.os?.name === "windows" ? undefined : check(pod));
}

function allowPrivilegeEscalation(pod: CheckedPod): Violation | undefined {
  const containers = containersWith(pod, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false);
  if (containers.length === 0) return undefined;
  const detail = `${counted("container", containers)} must set securityContext.allowPrivilegeEscalation=false`;
  return { reason: "allowPrivilegeEscalation != false", detail };
}

function capabilities(pod: CheckedPod): Violation | undefined {
  const missing: string[] = [];
  const adding: string[] = [];
  const forbidden: string[] = [];
  for (const { name, securityContext } of containersOf(pod.spec)) {
    const { add = [], drop = [] } = securityContext?.capabilities ?? {};
    if (!drop.includes("ALL")) missing.push(name);
    const added = add.filter((one) => one !== "NET_BIND_SERVICE");
    if (added.length > 0) adding.push(name);
    forbidden.push(...added);
  }
  const details: string[] = [];
  if (missing.length > 0) {
    details.push(`${counted("container", missing)} must set securityContext.capabilities.drop=["ALL"]`);
  }
  if (adding.length > 0) {
    const what = `must not include ${quoted(sorted(forbidden))} in securityContext.capabilities.add`;
    details.push(`${counted("container", adding)} ${what}`);
  }
  return details.length === 0 ? undefined : { reason: "unrestricted capabilities", detail: details.join("; ") };
}

function restrictedVolumes({ spec }: CheckedPod): Violation | undefined {
  const bad = (spec.volumes ?? []).filter((volume) => !ALLOWED_VOLUMES.some((type) => volume[type] !== undefined));
  if (bad.length === 0) return undefined;
  const names = bad.map(({ name }) => name);
  const types = sorted(bad.map((volume) => RESTRICTED_VOLUMES.find((type) => volume[type] !== undefined) ?? "unknown"));
  const verb = names.length === 1 ? "uses" : "use";
  const what = `${plural("restricted volume type", types.length)} ${quoted(types)}`;
  return { reason: "restricted volume types", detail: `${counted("volume", names)} ${verb} ${what}` };
}

function runAsNonRoot(pod: CheckedPod): Violation | undefined {
  const reason = "runAsNonRoot != true";
  const { setters, unset } = badValues(
    pod,
    ({ runAsNonRoot: isNonRoot }) => isNonRoot,
    (isNonRoot) => !isNonRoot,
  );
  if (setters.length > 0) {
    return { reason, detail: `${setters.join(" and ")} must not set securityContext.runAsNonRoot=false` };
  }
  if (unset.length === 0) return undefined;
  return { reason, detail: `pod or ${counted("container", unset)} must set securityContext.runAsNonRoot=true` };
}

function runAsUser(pod: CheckedPod): Violation | undefined {
  const { setters } = badValues(
    pod,
    ({ runAsUser: user }) => user,
    (user) => user === 0,
  );
  if (setters.length === 0) return undefined;
  return { reason: "runAsUser=0", detail: `${setters.join(" and ")} must not set runAsUser=0` };
}

function seccompProfile(pod: CheckedPod): Violation | undefined {
  return seccompFieldCheck(pod, { isRequired: true });
}

import { join } from "node:path";
import type { V1SELinuxOptions, V1SeccompProfile, V1SecurityContext } from "@kubernetes/client-node";
import { type ContainerSpec, containersOf, initContainersOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Init } from "../../staging/apimachinery/protobuf/fields.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { NamespaceMode, ProfileType } from "../../staging/cri/messages/enums.js";
import type {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  NamespaceOption,
  SecurityProfile,
} from "../../staging/cri/messages/security.js";
import { formatPod } from "../container/helpers.js";

/** The user of an image: a number, or only a name. */
export interface ImageUser {
  readonly uid?: number;
  readonly username: string;
}

export interface SecurityContextOptions {
  readonly seccompProfileRoot: string;
  /** groups of the pod's volumes */
  readonly extraGroups: readonly number[];
  /** the container whose processes an ephemeral container shares */
  readonly targetId?: string;
}

/** Masked and read-only paths of /proc and /sys. k8s.io/kubernetes/pkg/securitycontext/util.go */
const MASKED_PATHS = [
  "/proc/acpi",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
];
const READONLY_PATHS = ["/proc/asound", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/** Merges the container's settings over the pod's. Mirrors DetermineEffectiveSecurityContext in pkg/securitycontext/util.go. */
function effectiveSecurityContext(pod: V1Pod, container: ContainerSpec): Wire<V1SecurityContext> {
  const { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot } = pod.spec.securityContext ?? {};
  const own = Object.entries(container.securityContext ?? {}).filter(([, value]) => value !== null);
  return { ...definedOf({ seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot }), ...Object.fromEntries(own) };
}

function definedOf<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}

/**
 * Returns the error of a container with runAsNonRoot that would run as root.
 * Mirrors verifyRunAsNonRoot in pkg/kubelet/kuberuntime/security_context_others.go.
 * @returns undefined: it does not, or it may
 */
export function verifyRunAsNonRoot(pod: V1Pod, container: ContainerSpec, image: ImageUser): string | undefined {
  const { runAsNonRoot, runAsUser } = effectiveSecurityContext(pod, container);
  if (runAsNonRoot !== true) return undefined;
  const where = `(pod: "${formatPod(pod)}", container: ${container.name})`;
  if (typeof runAsUser === "number") {
    return runAsUser === 0 ? `container's runAsUser breaks non-root policy ${where}` : undefined;
  }
  if (image.uid === 0) return `container has runAsNonRoot and image will run as root ${where}`;
  if (image.uid !== undefined || image.username === "") return undefined;
  const user = `image has non-numeric user (${image.username})`;
  return `container has runAsNonRoot and ${user}, cannot verify user is non-root ${where}`;
}

/** Mirrors determineEffectiveSecurityContext in pkg/kubelet/kuberuntime/security_context.go. */
export function containerSecurityContext(
  pod: V1Pod,
  container: ContainerSpec,
  image: ImageUser,
  options: SecurityContextOptions,
): Init<typeof LinuxContainerSecurityContext> {
  const effective = effectiveSecurityContext(pod, container);
  const { capabilities, privileged, runAsUser, runAsGroup, readOnlyRootFilesystem, procMount } = effective;
  const isUnmasked = procMount === "Unmasked";
  const namespaceOptions = namespacesForPod(pod);
  const { targetId } = options;
  return {
    ...(capabilities === undefined || capabilities === null
      ? {}
      : { capabilities: { addCapabilities: capabilities.add ?? [], dropCapabilities: capabilities.drop ?? [] } }),
    privileged: privileged === true,
    namespaceOptions:
      targetId === undefined ? namespaceOptions : { ...namespaceOptions, pid: NamespaceMode.TARGET, targetId },
    ...seLinux(effective.seLinuxOptions),
    ...(typeof runAsUser === "number" ? { runAsUser: { value: runAsUser } } : imageUser(image)),
    ...(typeof runAsGroup === "number" ? { runAsGroup: { value: runAsGroup } } : {}),
    readonlyRootfs: readOnlyRootFilesystem === true,
    supplementalGroups: supplementalGroups(pod, options.extraGroups),
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    maskedPaths: isUnmasked ? [] : MASKED_PATHS,
    readonlyPaths: isUnmasked ? [] : READONLY_PATHS,
    seccomp: seccompProfile(pod, container, options.seccompProfileRoot),
  };
}

function imageUser({ uid, username }: ImageUser): Init<typeof LinuxContainerSecurityContext> {
  return { ...(uid === undefined ? {} : { runAsUser: { value: uid } }), runAsUsername: username };
}

/** Mirrors the securityContext part of generatePodSandboxLinuxConfig in kuberuntime_sandbox.go. */
export function sandboxSecurityContext(
  pod: V1Pod,
  extraGroups: readonly number[],
): Init<typeof LinuxSandboxSecurityContext> {
  const { securityContext } = pod.spec;
  const isPrivileged = [...initContainersOf(pod), ...containersOf(pod)].some(
    (container) => container.securityContext?.privileged === true,
  );
  const base = { privileged: isPrivileged, seccomp: { profileType: ProfileType.RuntimeDefault } };
  if (securityContext === undefined || securityContext === null) {
    // Differs: always set, where upstream omits it for pods without a security context, which the API server always
    // adds.
    return { ...base, namespaceOptions: namespacesForPod(pod) };
  }
  const { runAsUser, runAsGroup, seLinuxOptions } = securityContext;
  return {
    ...base,
    namespaceOptions: namespacesForPod(pod),
    ...(typeof runAsUser === "number" ? { runAsUser: { value: runAsUser } } : {}),
    ...(typeof runAsGroup === "number" ? { runAsGroup: { value: runAsGroup } } : {}),
    supplementalGroups: supplementalGroups(pod, extraGroups),
    ...seLinux(seLinuxOptions),
  };
}

/** Mirrors NamespacesForPod in pkg/kubelet/kuberuntime/util/util.go. */
function namespacesForPod(pod: V1Pod): Init<typeof NamespaceOption> {
  const { hostNetwork, hostIPC, hostPID, shareProcessNamespace } = pod.spec;
  const pid = shareProcessNamespace === true ? NamespaceMode.POD : NamespaceMode.CONTAINER;
  return {
    network: hostNetwork === true ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: hostIPC === true ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: hostPID === true ? NamespaceMode.NODE : pid,
  };
}

function supplementalGroups(pod: V1Pod, extraGroups: readonly number[]): number[] {
  const { fsGroup, supplementalGroups: own } = pod.spec.securityContext ?? {};
  return [...(typeof fsGroup === "number" ? [fsGroup] : []), ...(own ?? []), ...extraGroups];
}

function seLinux(options: Wire<V1SELinuxOptions> | null | undefined) {
  return options === undefined || options === null ? {} : { selinuxOptions: options };
}

/** Mirrors getSeccompProfile in pkg/kubelet/kuberuntime/helpers.go. Default: unconfined, as before v1.27's default. */
function seccompProfile(pod: V1Pod, container: ContainerSpec, root: string): Init<typeof SecurityProfile> {
  const profile: Wire<V1SeccompProfile> | null | undefined =
    container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  if (profile?.type === "RuntimeDefault") return { profileType: ProfileType.RuntimeDefault };
  const { localhostProfile } = profile ?? {};
  if (profile?.type === "Localhost" && typeof localhostProfile === "string") {
    return { profileType: ProfileType.Localhost, localhostRef: join(root, localhostProfile) };
  }
  return { profileType: ProfileType.Unconfined };
}

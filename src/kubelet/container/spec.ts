import type { V1Container, V1Pod } from "../../apimachinery/api/pod.js";

/**
 * What running a pod reads of its spec beyond `V1Pod`: the API server, or for manifests the kubelet, has checked it.
 * Mirrors k8s.io/api/core/v1/types.go.
 */

type List<T> = readonly T[] | null;

export interface ContainerSpec extends V1Container {
  readonly command?: List<string>;
  readonly args?: List<string>;
  readonly workingDir?: string;
  readonly ports?: List<ContainerPort>;
  readonly resources?: ResourceRequirements;
  readonly imagePullPolicy?: string;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
  readonly securityContext?: SecurityContext | null;
  readonly lifecycle?: { readonly postStart?: LifecycleHandler | null; readonly preStop?: LifecycleHandler | null };
  readonly livenessProbe?: ProbeSpec | null;
  readonly startupProbe?: ProbeSpec | null;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
}

export interface EphemeralContainerSpec extends ContainerSpec {
  readonly targetContainerName?: string;
}

export interface PodSpec {
  readonly ephemeralContainers?: List<EphemeralContainerSpec>;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly shareProcessNamespace?: boolean | null;
  readonly setHostnameAsFQDN?: boolean | null;
  readonly securityContext?: PodSecurityContext | null;
  readonly runtimeClassName?: string | null;
  readonly priorityClassName?: string;
  readonly priority?: number | null;
  readonly overhead?: ResourceList | null;
}

export interface ContainerPort {
  readonly name?: string;
  readonly hostPort?: number;
  readonly containerPort: number;
  readonly protocol?: string;
  readonly hostIP?: string;
}

export type ResourceList = Readonly<Record<string, unknown>>;

export interface ResourceRequirements {
  readonly limits?: ResourceList | null;
  readonly requests?: ResourceList | null;
}

export interface ProbeSpec {
  readonly terminationGracePeriodSeconds?: number | null;
}

export interface HttpGetAction {
  readonly path?: string;
  readonly port: number | string;
  readonly host?: string;
  readonly scheme?: string;
  readonly httpHeaders?: List<{ readonly name: string; readonly value: string }>;
}

export interface LifecycleHandler {
  readonly exec?: { readonly command?: List<string> } | null;
  readonly httpGet?: HttpGetAction | null;
  readonly tcpSocket?: unknown;
  readonly sleep?: { readonly seconds: number } | null;
}

export interface SeLinuxOptions {
  readonly user?: string;
  readonly role?: string;
  readonly type?: string;
  readonly level?: string;
}

export interface SeccompProfile {
  readonly type: string;
  readonly localhostProfile?: string | null;
}

export interface SecurityContext {
  readonly capabilities?: { readonly add?: List<string>; readonly drop?: List<string> } | null;
  readonly privileged?: boolean | null;
  readonly seLinuxOptions?: SeLinuxOptions | null;
  readonly runAsUser?: number | null;
  readonly runAsGroup?: number | null;
  readonly runAsNonRoot?: boolean | null;
  readonly readOnlyRootFilesystem?: boolean | null;
  readonly allowPrivilegeEscalation?: boolean | null;
  readonly procMount?: string | null;
  readonly seccompProfile?: SeccompProfile | null;
}

export interface PodSecurityContext {
  readonly seLinuxOptions?: SeLinuxOptions | null;
  readonly runAsUser?: number | null;
  readonly runAsGroup?: number | null;
  readonly runAsNonRoot?: boolean | null;
  readonly supplementalGroups?: List<number>;
  readonly fsGroup?: number | null;
  readonly sysctls?: List<{ readonly name: string; readonly value: string }>;
  readonly seccompProfile?: SeccompProfile | null;
}

export function podSpec(pod: V1Pod): PodSpec {
  return pod.spec as PodSpec;
}

export function containersOf({ spec }: V1Pod): readonly ContainerSpec[] {
  return (spec.containers ?? []) as readonly ContainerSpec[];
}

export function initContainersOf({ spec }: V1Pod): readonly ContainerSpec[] {
  return (spec.initContainers ?? []) as readonly ContainerSpec[];
}

export function ephemeralContainersOf(pod: V1Pod): readonly EphemeralContainerSpec[] {
  return podSpec(pod).ephemeralContainers ?? [];
}

/** An init container that runs beside the others. Mirrors IsRestartableInitContainer in pkg/api/v1/pod/util.go. */
export function isRestartableInitContainer({ restartPolicy }: V1Container): boolean {
  return restartPolicy === "Always";
}

/** Of all kinds. Mirrors GetContainerSpec in pkg/kubelet/container/helpers.go. */
export function getContainerSpec(pod: V1Pod, name: string): ContainerSpec | undefined {
  return [...initContainersOf(pod), ...containersOf(pod), ...ephemeralContainersOf(pod)].find(
    (container) => container.name === name,
  );
}

/** Which part of the pod an event is about: `spec.containers{app}`. Mirrors fieldPath in pkg/kubelet/container/ref.go. */
export function containerFieldPath(pod: V1Pod, { name }: V1Container): string {
  const has = (list: readonly V1Container[]) => list.some((container) => container.name === name);
  if (has(containersOf(pod))) return `spec.containers{${name}}`;
  if (has(initContainersOf(pod))) return `spec.initContainers{${name}}`;
  return has(ephemeralContainersOf(pod)) ? `spec.ephemeralContainers{${name}}` : "";
}

/** `name_namespace(uid)`. Mirrors format.Pod in pkg/kubelet/util/format/pod.go. */
export function formatPod({ metadata }: V1Pod): string {
  return `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
}

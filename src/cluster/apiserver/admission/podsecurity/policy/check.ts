import type { ContainerSpec, V1PodSpec } from "../../../../../staging/apimachinery/api/pod.js";

/** The annotations and the spec of a pod, or of a controller's template. */
export interface CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: V1PodSpec;
}

/** Why a check refuses a pod. */
export interface Violation {
  /** `host namespaces` */
  readonly reason: string;
  /** `hostNetwork=true`; empty: the reason says everything */
  readonly detail: string;
}

export type CheckPod = (pod: CheckedPod) => Violation | undefined;

/** One check, and how it changed from release to release. Mirrors Check in k8s.io/pod-security-admission/policy/checks.go. */
export interface Check {
  readonly id: string;
  /** in ascending order of `since`, which is a minor release */
  readonly versions: readonly { readonly since: number; readonly check: CheckPod }[];
  /** the baseline check that this restricted one makes superfluous */
  readonly overrides?: string;
}

/** All containers in upstream's order. Mirrors visitContainers. */
export function containersOf({ initContainers, containers, ephemeralContainers }: V1PodSpec): readonly ContainerSpec[] {
  return [...(initContainers ?? []), ...containers, ...(ephemeralContainers ?? [])];
}

/** The names of the containers for which `isBad` holds. */
export function containersWith({ spec }: CheckedPod, isBad: (container: ContainerSpec) => boolean): readonly string[] {
  return containersOf(spec)
    .filter(isBad)
    .map(({ name }) => name);
}

/** `containers "a", "b"` */
export function counted(noun: string, names: readonly string[]): string {
  return `${plural(noun, names.length)} ${quoted(names)}`;
}

export function plural(noun: string, count: number): string {
  return count === 1 ? noun : `${noun}s`;
}

/** `"a", "b"`. Mirrors joinQuote, which does not escape. */
export function quoted(names: readonly string[]): string {
  return `"${names.join('", "')}"`;
}

export function sorted(texts: Iterable<string>): readonly string[] {
  return [...new Set(texts)].sort();
}

/** `pod and container "c"`: who set a bad value */
function setters(isPod: boolean, containers: readonly string[]): readonly string[] {
  return [...(isPod ? ["pod"] : []), ...(containers.length === 0 ? [] : [counted("container", containers)])];
}

/** The values of a field of the security context that the pod and its containers set badly, and who did. */
export function badValues<T>(
  { spec }: CheckedPod,
  read: (securityContext: SecurityContext) => T | null | undefined,
  isBad: (value: T) => boolean,
): { readonly setters: readonly string[]; readonly values: readonly T[]; readonly unset: readonly string[] } {
  const values: T[] = [];
  const bad: string[] = [];
  const unset: string[] = [];
  const ofPod = read(spec.securityContext ?? {}) ?? undefined;
  const isPodBad = ofPod !== undefined && isBad(ofPod);
  if (isPodBad) values.push(ofPod);
  for (const { name, securityContext } of containersOf(spec)) {
    const value = read(securityContext ?? {}) ?? undefined;
    if (value === undefined) {
      if (ofPod === undefined || isPodBad) unset.push(name);
    } else if (isBad(value)) {
      values.push(value);
      bad.push(name);
    }
  }
  return { setters: setters(isPodBad, bad), values, unset };
}

/** The fields that pods and containers have both. */
export type SecurityContext = Pick<
  NonNullable<V1PodSpec["securityContext"]> & NonNullable<ContainerSpec["securityContext"]>,
  "appArmorProfile" | "runAsNonRoot" | "runAsUser" | "seLinuxOptions" | "seccompProfile" | "windowsOptions"
>;

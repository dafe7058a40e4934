import { CONTAINER_NAME_LABEL, POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "../../staging/cri/labels.js";

/**
 * The labels and annotations that the kubelet writes on sandboxes and containers.
 *
 * Mirrors pkg/kubelet/kuberuntime/labels.go.
 */

export const CONTAINER_HASH_ANNOTATION = "io.kubernetes.container.hash";
export const RESTART_COUNT_ANNOTATION = "io.kubernetes.container.restartCount";
export const TERMINATION_MESSAGE_PATH_ANNOTATION = "io.kubernetes.container.terminationMessagePath";
export const TERMINATION_MESSAGE_POLICY_ANNOTATION = "io.kubernetes.container.terminationMessagePolicy";
export const PRE_STOP_HANDLER_ANNOTATION = "io.kubernetes.container.preStopHandler";
const CONTAINER_PORTS_ANNOTATION = "io.kubernetes.container.ports";
export const DELETION_GRACE_PERIOD_ANNOTATION = "io.kubernetes.pod.deletionGracePeriod";
export const TERMINATION_GRACE_PERIOD_ANNOTATION = "io.kubernetes.pod.terminationGracePeriod";

type StringMap = Readonly<Record<string, string>>;

/** The fields of a pod that labels need. */
export interface LabelledPod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly labels?: StringMap;
    readonly deletionGracePeriodSeconds?: number;
  };
  readonly spec: { readonly terminationGracePeriodSeconds?: number };
}

/** The fields of a container's spec that labels need. */
export interface LabelledContainer {
  readonly name: string;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
  readonly lifecycle?: { readonly preStop?: unknown };
  readonly ports?: readonly unknown[];
}

/** The pod's own labels, overridden by the kubelet's labels of the sandbox. Mirrors newPodLabels. */
export function newPodLabels({ metadata }: LabelledPod): Record<string, string> {
  return { ...metadata.labels, ...podIdentity(metadata) };
}

/** Mirrors newContainerLabels. */
export function newContainerLabels(container: LabelledContainer, pod: LabelledPod): Record<string, string> {
  return { ...podIdentity(pod.metadata), [CONTAINER_NAME_LABEL]: container.name };
}

function podIdentity({ name, namespace, uid }: LabelledPod["metadata"]): Record<string, string> {
  return { [POD_NAME_LABEL]: name, [POD_NAMESPACE_LABEL]: namespace, [POD_UID_LABEL]: uid };
}

/**
 * Makes the annotations by which the kubelet recognises its containers.
 *
 * Mirrors newContainerAnnotations.
 * @param options.hash of the container's spec
 * @param options.annotations of device plugins: the kubelet's own win
 */
export function newContainerAnnotations(
  container: LabelledContainer,
  pod: LabelledPod,
  options: { readonly restartCount: number; readonly hash: number; readonly annotations?: StringMap },
): Record<string, string> {
  const { deletionGracePeriodSeconds: deletion } = pod.metadata;
  const { terminationGracePeriodSeconds: termination } = pod.spec;
  const preStop = container.lifecycle?.preStop;
  const ports = container.ports ?? [];
  return {
    ...options.annotations,
    [CONTAINER_HASH_ANNOTATION]: options.hash.toString(16),
    [RESTART_COUNT_ANNOTATION]: String(options.restartCount),
    [TERMINATION_MESSAGE_PATH_ANNOTATION]: container.terminationMessagePath ?? "",
    [TERMINATION_MESSAGE_POLICY_ANNOTATION]: container.terminationMessagePolicy ?? "",
    ...(deletion === undefined ? {} : { [DELETION_GRACE_PERIOD_ANNOTATION]: String(deletion) }),
    ...(termination === undefined ? {} : { [TERMINATION_GRACE_PERIOD_ANNOTATION]: String(termination) }),
    ...(preStop === undefined ? {} : { [PRE_STOP_HANDLER_ANNOTATION]: JSON.stringify(preStop) }),
    ...(ports.length === 0 ? {} : { [CONTAINER_PORTS_ANNOTATION]: JSON.stringify(ports) }),
  };
}

/** Reads a container's annotations. Missing or malformed ones count as zero: it may not be the kubelet's. */
export interface AnnotatedContainer {
  readonly hash: number;
  readonly restartCount: number;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
}

/** Mirrors getContainerInfoFromAnnotations, as far as statuses need it. */
export function getContainerInfoFromAnnotations(annotations: StringMap): AnnotatedContainer {
  return {
    hash: numberOf(annotations[CONTAINER_HASH_ANNOTATION], /^[0-9a-fA-F]{1,16}$/, 16),
    restartCount: numberOf(annotations[RESTART_COUNT_ANNOTATION], /^[+-]?\d{1,18}$/, 10),
    terminationMessagePath: annotations[TERMINATION_MESSAGE_PATH_ANNOTATION] ?? "",
    terminationMessagePolicy: annotations[TERMINATION_MESSAGE_POLICY_ANNOTATION] ?? "",
  };
}

function numberOf(text: string | undefined, form: RegExp, radix: number): number {
  return text !== undefined && form.test(text) ? Number.parseInt(text, radix) : 0;
}

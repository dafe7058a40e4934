import type { V1Pod } from "../../staging/apimachinery/api/pod.js";

/** The pod to admit and the pods on the node. Mirrors PodAdmitAttributes in pkg/kubelet/lifecycle/interfaces.go. */
export interface PodAdmitAttributes {
  readonly pod: V1Pod;
  /** admitted and not terminated */
  readonly otherPods: readonly V1Pod[];
}

/** Mirrors PodAdmitResult. Reason and message go into the pod's status and its event. */
export type PodAdmitResult =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

/** Mirrors PodAdmitHandler. */
export interface PodAdmitHandler {
  admit(attributes: PodAdmitAttributes): Promise<PodAdmitResult>;
}

/**
 * The first refusal decides. Mirrors canAdmitPod in pkg/kubelet/kubelet.go.
 * @param otherPods the active pods; the pod itself is left out here
 */
export async function canAdmitPod(
  handlers: readonly PodAdmitHandler[],
  pods: readonly V1Pod[],
  pod: V1Pod,
): Promise<PodAdmitResult> {
  const otherPods = pods.filter(({ metadata }) => metadata.uid !== pod.metadata.uid);
  for (const handler of handlers) {
    const result = await handler.admit({ pod, otherPods });
    if (!result.admit) return result;
  }
  return { admit: true };
}

import type { ListedContainer, ListedSandbox } from "../../../src/kubelet/kuberuntime/runtime-service.js";
import { POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "../../../src/staging/cri/labels.js";

export const signal = new AbortController().signal;
export const pod = { podUid: "u1", name: "web", namespace: "default" };

/** A sandbox as a list has it. */
export function sandbox(id: string, state = 0, createdAt = 1n, uid = "u1"): ListedSandbox {
  return { id, state, createdAt, metadata: { name: `pod-${uid}`, uid, namespace: "default" } };
}

/** A container as a list has it. */
export function container(id: string, state = 1, uid: string | null = "u1"): ListedContainer {
  const labels = { [POD_UID_LABEL]: uid, [POD_NAME_LABEL]: `pod-${uid}`, [POD_NAMESPACE_LABEL]: "default" };
  return {
    id,
    state,
    image: {},
    metadata: { name: `name-${id}` },
    labels: uid === null ? {} : (labels as Record<string, string>),
  };
}

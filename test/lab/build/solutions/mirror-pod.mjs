const MIRROR = "kubernetes.io/config.mirror";
const HASH = "kubernetes.io/config.hash";

export function mirrorPodOf({ metadata, spec, status }, node) {
  const annotations = { ...metadata.annotations, [MIRROR]: metadata.annotations[HASH] };
  const owner = { apiVersion: "v1", kind: "Node", name: node.name, uid: node.uid, controller: true };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, annotations, ownerReferences: [owner] },
    spec,
    status,
  };
}

export function whatToDo(staticPod, mirrorPod) {
  if (mirrorPod === undefined) return "create";
  const { annotations = {}, deletionTimestamp } = mirrorPod.metadata;
  if (deletionTimestamp !== undefined) return "replace";
  return annotations[MIRROR] === staticPod.metadata.annotations[HASH] ? "keep" : "replace";
}

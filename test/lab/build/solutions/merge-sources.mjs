import { isDeepStrictEqual } from "node:util";

const LOCAL = ["kubernetes.io/config.source", "kubernetes.io/config.seen", "kubernetes.io/config.mirror"];

function meant({ spec, metadata }) {
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => !LOCAL.includes(key));
  return {
    spec,
    labels: metadata.labels ?? {},
    annotations: Object.fromEntries(annotations),
    deletionTimestamp: metadata.deletionTimestamp,
    grace: metadata.deletionGracePeriodSeconds,
  };
}

export class PodConfig {
  #sources = new Map();

  set(source, pods) {
    const before = this.#sources.get(source) ?? new Map();
    const after = new Map();
    const names = new Set();
    const changes = {};
    const add = (op, uid) => {
      changes[op] = [...(changes[op] ?? []), uid];
    };
    for (const pod of pods) {
      const { uid, name, namespace, deletionTimestamp } = pod.metadata;
      if (names.has(`${name}_${namespace}`)) continue;
      names.add(`${name}_${namespace}`);
      after.set(uid, pod);
      const old = before.get(uid);
      if (old === undefined) add("ADD", uid);
      else if (!isDeepStrictEqual(meant(old), meant(pod)))
        add(deletionTimestamp === undefined ? "UPDATE" : "DELETE", uid);
      else if (!isDeepStrictEqual(old.status, pod.status)) add("RECONCILE", uid);
    }
    for (const uid of before.keys()) if (!after.has(uid)) add("REMOVE", uid);
    this.#sources.set(source, after);
    return changes;
  }
}

import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf, splitKey } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { podReferences, usesClaim } from "../../../staging/apimachinery/corev1/pod-references.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { Claim, Volume } from "../../../staging/component-helpers/storage/volume.js";
import type { Controller } from "../controller.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, decide, runSyncLoop } from "../support/sync-loop.js";

const CLAIMS = "persistentvolumeclaims";
const VOLUMES = "persistentvolumes";

/**
 * Lets a claim that is being deleted go when no pod on a node uses it any more.
 * Mirrors pkg/controller/volume/pvcprotection/pvc_protection_controller.go.
 */
export function createPvcProtectionController(deps: SharedDeps): Controller {
  const name = "pvc-protection";
  const claims = deps.reflectors.of<Claim>(CLAIMS);
  const pods = deps.reflectors.of<PodObject>("pods");
  const queue = new WorkQueue(deps.clock);
  const podChanged = (pod: PodObject) => {
    for (const name of podReferences(pod).persistentVolumeClaims) queue.add(`${pod.metadata.namespace}/${name}`);
  };
  const release = async (key: string) => {
    const claim = claims.byKey(key);
    if (claim === undefined || !isProtected(claim, "kubernetes.io/pvc-protection")) return;
    // A pod without a node does not use it yet, and one that has ended does not any more.
    const user = pods
      .list()
      .find((pod) => (pod.spec?.nodeName ?? "") !== "" && !hasEnded(pod) && usesClaim(pod, claim));
    if (user !== undefined) return;
    const upstream = {
      file: "pkg/controller/volume/pvcprotection/pvc_protection_controller.go",
      func: "removeFinalizer",
    };
    const decision = {
      what: `let claim ${key} go`,
      why: "it is being deleted, and no pod on a node uses it",
      upstream,
    };
    await decide(deps.trace, decision, () => withoutFinalizer(deps, CLAIMS, claim, "kubernetes.io/pvc-protection"));
  };
  const sources = [
    changesOf(claims, { added: (claim) => queue.add(keyOf(claim)), updated: (_, claim) => queue.add(keyOf(claim)) }),
    changesOf(pods, { updated: (_, pod) => (hasEnded(pod) ? podChanged(pod) : undefined), deleted: podChanged }),
  ];
  return { name, run: (signal) => runSyncLoop({ name, trace: deps.trace, queue, sources, sync: release }, signal) };
}

/**
 * Lets a volume that is being deleted go when it is bound to no claim any more.
 * Mirrors pkg/controller/volume/pvprotection/pv_protection_controller.go.
 */
export function createPvProtectionController(deps: SharedDeps): Controller {
  const name = "pv-protection";
  const volumes = deps.reflectors.of<Volume>(VOLUMES);
  const queue = new WorkQueue(deps.clock);
  const release = async (key: string) => {
    const volume = volumes.byKey(key);
    if (volume === undefined || volume.status?.phase === "Bound") return;
    if (!isProtected(volume, "kubernetes.io/pv-protection")) return;
    const upstream = {
      file: "pkg/controller/volume/pvprotection/pv_protection_controller.go",
      func: "removeFinalizer",
    };
    const decision = { what: `let volume ${key} go`, why: "it is being deleted, and bound to no claim", upstream };
    await decide(deps.trace, decision, () => withoutFinalizer(deps, VOLUMES, volume, "kubernetes.io/pv-protection"));
  };
  const add = (volume: Volume) => queue.add(nameOf(volume));
  const sources = [changesOf(volumes, { added: add, updated: (_, volume) => add(volume) })];
  return { name, run: (signal) => runSyncLoop({ name, trace: deps.trace, queue, sources, sync: release }, signal) };
}

function isProtected(object: KubeObject, finalizer: string): boolean {
  return isTerminating(object) && object.metadata.finalizers?.includes(finalizer) === true;
}

function hasEnded({ status }: PodObject): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

async function withoutFinalizer(
  { client }: SharedDeps,
  resource: string,
  object: KubeObject,
  finalizer: string,
): Promise<void> {
  const { namespace, name } = splitKey(keyOf(object));
  await client.modify(resource, namespace, name, (current) => {
    const finalizers = current.metadata.finalizers ?? [];
    if (!finalizers.includes(finalizer)) return current;
    return { ...current, metadata: { ...current.metadata, finalizers: finalizers.filter((one) => one !== finalizer) } };
  });
}

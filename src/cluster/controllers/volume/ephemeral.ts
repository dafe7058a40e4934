import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { claimReferenceOf } from "../../../staging/apimachinery/corev1/pod-references.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { Claim } from "../../../staging/component-helpers/storage/volume.js";
import type { Controller } from "../controller.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, decide, runSyncLoop } from "../support/sync-loop.js";

const NAME = "ephemeral-volume";
const CLAIMS = "persistentvolumeclaims";

/**
 * Creates the claims of generic ephemeral volumes. The pod owns its claim, so both go together.
 * Mirrors pkg/controller/volume/ephemeral/controller.go.
 */
export function createEphemeralVolumeController(deps: SharedDeps): Controller {
  const { client, clock, reflectors, trace } = deps;
  const pods = reflectors.of<PodObject>("pods");
  const claims = reflectors.of<Claim>(CLAIMS);
  const queue = new WorkQueue(clock);
  const recorder = deps.recorderFor("ephemeral_volume");
  const add = (pod: PodObject) => {
    if (pod.spec?.volumes?.some(({ ephemeral }) => ephemeral) === true) queue.add(keyOf(pod));
  };
  const create = async (pod: PodObject, volume: EphemeralVolume) => {
    const name = claimReferenceOf(pod, volume)?.name ?? "";
    const { namespace } = pod.metadata;
    const existing = claims.get(namespace, name);
    if (existing !== undefined) {
      if (existing.metadata.ownerReferences?.some(({ uid }) => uid === pod.metadata.uid) === true) return;
      const problem = `PVC ${namespace}/${name} was not created for pod ${namespace}/${nameOf(pod)} (pod is not owner)`;
      recorder.event(referenceTo(pod), "Warning", "EphemeralVolumeConflict", problem);
      throw new Error(problem);
    }
    const upstream = { file: "pkg/controller/volume/ephemeral/controller.go", func: "handleVolume" };
    const what = `create claim ${namespace}/${name} for the volume ${volume.name} of pod ${keyOf(pod)}`;
    await decide(trace, { what, why: "the volume is ephemeral: its claim lives as long as the pod", upstream }, () =>
      client.create(CLAIMS, namespace, claimFor(pod, name, volume)),
    );
  };
  const sync = async (key: string) => {
    const pod = pods.byKey(key);
    if (pod === undefined || isTerminating(pod)) return;
    for (const volume of pod.spec?.volumes ?? []) if (volume.ephemeral) await create(pod, volume);
  };
  const sources = [changesOf(pods, { added: add }), changesOf(claims, {})];
  return { name: NAME, run: (signal) => runSyncLoop({ name: NAME, trace, queue, sources, sync }, signal) };
}

type EphemeralVolume = NonNullable<NonNullable<PodObject["spec"]>["volumes"]>[number];

function claimFor(pod: PodObject, name: string, { ephemeral }: EphemeralVolume): KubeObject {
  const { metadata, spec } = ephemeral?.volumeClaimTemplate ?? {};
  const { namespace, uid = "" } = pod.metadata;
  const owner = { apiVersion: "v1", kind: "Pod", name: nameOf(pod), uid, controller: true, blockOwnerDeletion: true };
  const { labels, annotations } = metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace, labels, annotations, ownerReferences: [owner] },
    spec,
  } as KubeObject;
}

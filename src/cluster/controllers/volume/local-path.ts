import type { NodeObject } from "../../../staging/apimachinery/api/node.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import {
  type Claim,
  PROVISIONED_BY,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  type StorageClass,
  storageClassOf,
  type Volume,
} from "../../../staging/component-helpers/storage/volume.js";
import type { Controller } from "../controller.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, decide, runSyncLoop } from "../support/sync-loop.js";
import {
  HELPS,
  helperName,
  helperPod,
  LOCAL_PATH_PROVISIONER,
  localPathVolume,
  NAMESPACE,
  VOLUME_NODE,
  volumeNameOf,
} from "./local-path-objects.js";

const NAME = "local-path-provisioner";
const SOURCE = { file: "github.com/rancher/local-path-provisioner/provisioner.go", func: "Provision" };
/** How long a helper pod may take. Mirrors DefaultCmdTimeoutSeconds of the provisioner. */
const HELPER_TIMEOUT_MS = 120_000;

/**
 * Provisions a folder of a node for each claim of its classes, and removes it with its volume: a pod on the node does both.
 *
 * Follows rancher/local-path-provisioner, which kind and k3s bring, on sig-storage-lib-external-provisioner's events.
 * Differs: runs beside the controllers, under an account of its own.
 */
export function createLocalPathProvisioner(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new ProvisionerRun(deps).run(signal) };
}

class ProvisionerRun {
  readonly #queue: WorkQueue;
  readonly #removals: WorkQueue;
  readonly #recorder;

  constructor(readonly deps: SharedDeps) {
    this.#queue = new WorkQueue(deps.clock);
    this.#removals = new WorkQueue(deps.clock);
    this.#recorder = deps.recorderFor(LOCAL_PATH_PROVISIONER);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { reflectors, trace } = this.deps;
    const claims = reflectors.of<Claim>("persistentvolumeclaims");
    const volumes = reflectors.of<Volume>("persistentvolumes");
    const pods = reflectors.of<PodObject>("pods");
    const claimed = (claim: Claim) => this.#queue.add(keyOf(claim));
    const released = (volume: Volume) => this.#removals.add(nameOf(volume));
    // A helper that has ended brings back what it works for.
    const helperChanged = (pod: PodObject) => {
      const { [HELPS.create]: claim, [HELPS.delete]: volume } = pod.metadata.annotations ?? {};
      if (claim !== undefined) this.#queue.add(claim);
      if (volume !== undefined) this.#removals.add(volume);
    };
    const sources = [
      changesOf(claims, { added: claimed, updated: (_, claim) => claimed(claim) }),
      changesOf(volumes, { added: released, updated: (_, volume) => released(volume) }),
      changesOf(pods, { updated: (_, pod) => helperChanged(pod), deleted: helperChanged }),
    ];
    const others = [{ queue: this.#removals, sync: (name: string) => this.#remove(volumes.byKey(name)) }];
    const sync = (key: string) => this.#provision(claims.byKey(key));
    await runSyncLoop({ name: NAME, trace, queue: this.#queue, sources, sync, others }, signal);
  }

  async #provision(claim: Claim | undefined): Promise<void> {
    if (claim === undefined || !isOurs(claim)) return;
    const { client, reflectors, trace } = this.deps;
    const storageClass = reflectors.of<StorageClass>("storageclasses.storage.k8s.io").byKey(storageClassOf(claim));
    const node = claim.metadata.annotations?.[SELECTED_NODE];
    if (storageClass === undefined || (await client.get("persistentvolumes", undefined, volumeNameOf(claim)))) return;
    if (node === undefined && storageClass.volumeBindingMode === "WaitForFirstConsumer") return;
    const problem = whyNot(claim) ?? (node === undefined ? "configuration error, no node was specified" : undefined);
    if (problem !== undefined || node === undefined) return this.#failed(claim, problem ?? "");
    const done = await this.#help("create", claim, node);
    if (done === "no") return this.#failed(claim, `create process timeout after ${HELPER_TIMEOUT_MS / 1000} seconds`);
    if (done === "waits") return;
    const labels = reflectors.of<NodeObject>("nodes").byKey(node)?.metadata.labels;
    const volume = localPathVolume(claim, storageClass, node, labels?.["kubernetes.io/hostname"] ?? node);
    const decision = {
      what: `create volume ${nameOf(volume)} for claim ${keyOf(claim)}`,
      why: `the helper pod has made its folder on ${node}`,
      upstream: SOURCE,
    };
    await decide(trace, decision, () => client.create("persistentvolumes", undefined, volume));
    await client.delete("pods", NAMESPACE, helperName("create", nameOf(volume)));
    this.#recorder.event(
      referenceTo(claim),
      "Normal",
      "ProvisioningSucceeded",
      `Successfully provisioned volume ${nameOf(volume)}`,
    );
  }

  /** The scheduler chooses again without the node. Mirrors rescheduleProvisioning of the library. */
  async #failed(claim: Claim, problem: string): Promise<void> {
    const text = `failed to provision volume with StorageClass ${JSON.stringify(storageClassOf(claim))}: ${problem}`;
    this.#recorder.event(referenceTo(claim), "Warning", "ProvisioningFailed", text);
    await this.deps.client.modify<Claim>(
      "persistentvolumeclaims",
      claim.metadata.namespace,
      nameOf(claim),
      (current) => {
        const { [SELECTED_NODE]: node, ...annotations } = current.metadata.annotations ?? {};
        return node === undefined ? current : { ...current, metadata: { ...current.metadata, annotations } };
      },
    );
  }

  async #remove(volume: Volume | undefined): Promise<void> {
    if (volume === undefined || isTerminating(volume) || !isForRemoval(volume)) return;
    const { client, trace } = this.deps;
    const node = volume.metadata.annotations?.[VOLUME_NODE] ?? "";
    const done = await this.#help("delete", volume, node);
    if (done === "waits") return;
    if (done === "no") {
      const text = `failed to delete volume ${nameOf(volume)}: delete process timeout after ${HELPER_TIMEOUT_MS / 1000} seconds`;
      return this.#recorder.event(referenceTo(volume), "Warning", "VolumeFailedDelete", text);
    }
    const what = `delete volume ${nameOf(volume)}`;
    const why = `its reclaim policy is Delete, and the helper pod has removed its folder on ${node}`;
    await decide(trace, { what, why, upstream: { ...SOURCE, func: "Delete" } }, async () => {
      await client.delete("persistentvolumes", undefined, nameOf(volume));
      await client.delete("pods", NAMESPACE, helperName("delete", nameOf(volume)));
    });
  }

  /** Starts the helper pod once. @returns `no`: it has failed, or took too long, and is gone again */
  async #help(action: keyof typeof HELPS, about: Claim | Volume, node: string): Promise<"done" | "waits" | "no"> {
    const { client, clock, trace } = this.deps;
    const helper = helperPod(action, about, node);
    const pod = await client.get<PodObject>("pods", NAMESPACE, nameOf(helper));
    if (pod?.status?.phase === "Succeeded") return "done";
    if (pod !== undefined) {
      const isLate = clock.now() - Date.parse(String(pod.metadata.creationTimestamp)) >= HELPER_TIMEOUT_MS;
      if (!isLate && pod.status?.phase !== "Failed") return "waits";
      await client.delete("pods", NAMESPACE, nameOf(helper));
      return "no";
    }
    const what = `start pod ${NAMESPACE}/${nameOf(helper)} on ${node}`;
    const why = action === "create" ? "it makes the folder of the volume" : "it removes the folder of the volume";
    await decide(trace, { what, why, upstream: { ...SOURCE, func: "createHelperPod" } }, () =>
      client.create("pods", NAMESPACE, helper),
    );
    if (action === "create") {
      const text = `External provisioner is provisioning volume for claim ${JSON.stringify(keyOf(about))}`;
      this.#recorder.event(referenceTo(about), "Normal", "Provisioning", text);
    }
    (action === "create" ? this.#queue : this.#removals).addAfter(keyOf(about), HELPER_TIMEOUT_MS);
    return "waits";
  }
}

/** Mirrors shouldProvision of the library, with a class that waits for its first pod. */
function isOurs(claim: Claim): boolean {
  const { annotations } = claim.metadata;
  const isAsked = STORAGE_PROVISIONER.some((key) => annotations?.[key] === LOCAL_PATH_PROVISIONER);
  return isAsked && !isTerminating(claim) && (claim.spec?.volumeName ?? "") === "";
}

/** Mirrors shouldDelete of the library. */
function isForRemoval({ metadata, spec, status }: Volume): boolean {
  if (metadata.annotations?.[PROVISIONED_BY] !== LOCAL_PATH_PROVISIONER) return false;
  return status?.phase === "Released" && spec?.persistentVolumeReclaimPolicy === "Delete";
}

function whyNot({ spec }: Claim): string | undefined {
  if (spec?.selector) return "claim.Spec.Selector is not supported";
  const isSupported = (spec?.accessModes ?? []).every(
    (mode) => mode === "ReadWriteOnce" || mode === "ReadWriteOncePod",
  );
  if (!isSupported) return "Only support ReadWriteOnce access mode";
  if (spec?.volumeMode === "Block") return "Only support Filesystem volume mode";
  return undefined;
}

import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject } from "../../../../staging/apimachinery/api/objects.js";
import { usesClaim } from "../../../../staging/apimachinery/corev1/pod-references.js";
import type { SharedReflector } from "../../../../staging/client-go/informers/shared-reflector.js";
import type { EventRecorder, EventType } from "../../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../../staging/client-go/record/reference.js";
import { WorkQueue } from "../../../../staging/client-go/workqueue.js";
import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  type Claim,
  capacityOf,
  findMatchingVolume,
  isDelayBindingMode,
  isVolumeBoundToClaim,
  requestedBy,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  type StorageClass,
  storageClassOf,
  type Volume,
  whyUnsatisfied,
} from "../../../../staging/component-helpers/storage/volume.js";
import { isAtLeast } from "../../../../util/release/facts.js";
import type { Controller } from "../../controller.js";
import type { SharedDeps } from "../../support/shared-deps.js";
import { changesOf, decide, runSyncLoop } from "../../support/sync-loop.js";
import { bind, setClaimPhase, setProvisioner, setVolumePhase, unbind } from "./bind.js";
import { reclaim } from "./reclaim.js";

const NAME = "persistentvolume-binder";
const FILE = "pkg/controller/volume/persistentvolume/pv_controller.go";
const IN_TREE = "kubernetes.io/";
/** Mirrors the default of --pvclaimbinder-sync-period. */
const RESYNC_MS = 15_000;

/**
 * Binds claims to volumes, asks provisioners for volumes, and reclaims those that lost their claim.
 *
 * Mirrors pkg/controller/volume/persistentvolume (syncClaim, syncVolume).
 * Differs: changes of volumes and classes bring waiting claims back at once, not only the next look after 15 s; no plugin of
 * the tree provisions or recycles.
 */
export function createPersistentVolumeController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new PersistentVolumeRun(deps).run(signal) };
}

class PersistentVolumeRun {
  readonly #claims: SharedReflector<Claim>;
  readonly #volumes: SharedReflector<Volume>;
  readonly #classes: SharedReflector<StorageClass>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #claimQueue: WorkQueue;
  readonly #volumeQueue: WorkQueue;
  readonly #recorder: EventRecorder;

  constructor(readonly deps: SharedDeps) {
    const { reflectors, clock } = deps;
    this.#claims = reflectors.of<Claim>("persistentvolumeclaims");
    this.#volumes = reflectors.of<Volume>("persistentvolumes");
    this.#classes = reflectors.of<StorageClass>("storageclasses.storage.k8s.io");
    this.#pods = reflectors.of<PodObject>("pods");
    this.#claimQueue = new WorkQueue(clock);
    this.#volumeQueue = new WorkQueue(clock);
    this.#recorder = deps.recorderFor("persistentvolume-controller");
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#pods.synced(signal);
    const claimChanged = (claim: Claim) => {
      this.#claimQueue.add(keyOf(claim));
      const { volumeName = "" } = claim.spec ?? {};
      if (volumeName !== "") this.#volumeQueue.add(volumeName);
    };
    const volumeChanged = (volume: Volume) => {
      this.#volumeQueue.add(nameOf(volume));
      const ref = volume.spec?.claimRef;
      if (ref) this.#claimQueue.add(`${ref.namespace}/${ref.name}`);
    };
    const freed = (volume: Volume, previous?: Volume) => {
      volumeChanged(volume);
      if (volume.status?.phase === "Available" && previous?.status?.phase !== "Available") this.#tryWaiting();
    };
    const sources = [
      changesOf(this.#claims, {
        added: claimChanged,
        updated: (_, claim) => claimChanged(claim),
        deleted: claimChanged,
      }),
      changesOf(this.#volumes, {
        added: freed,
        updated: (previous, volume) => freed(volume, previous),
        deleted: volumeChanged,
      }),
      changesOf(this.#classes, { added: () => this.#tryWaiting(), updated: () => this.#tryWaiting() }),
    ];
    const { trace } = this.deps;
    const others = [{ queue: this.#volumeQueue, sync: (name: string) => this.#syncVolume(name) }];
    const sync = (key: string) => this.#syncClaim(key);
    await runSyncLoop({ name: NAME, trace, queue: this.#claimQueue, sources, sync, others }, signal);
  }

  #tryWaiting(): void {
    for (const claim of this.#claims.list()) if (claim.status?.phase === "Pending") this.#claimQueue.add(keyOf(claim));
  }

  async #syncClaim(key: string): Promise<void> {
    const claim = this.#claims.byKey(key);
    if (claim === undefined) return;
    if (claim.metadata.annotations?.[BIND_COMPLETED] !== undefined) return this.#syncBound(claim);
    const { volumeName = "" } = claim.spec ?? {};
    await (volumeName === "" ? this.#findVolume(claim) : this.#bindToChosen(claim, volumeName));
  }

  /** The claim names no volume yet. Mirrors the first half of syncUnboundClaim. */
  async #findVolume(claim: Claim): Promise<void> {
    const delayBinding = isDelayBindingMode(claim, (name) => this.#classes.byKey(name));
    const volume = findMatchingVolume(claim, this.#volumes.list(), { delayBinding });
    if (volume !== undefined) {
      const why = isVolumeBoundToClaim(volume, claim)
        ? "the volume names this claim"
        : `of the available volumes of class ${JSON.stringify(storageClassOf(claim))} it is the smallest that has ${requestedBy(claim)}: ${capacityOf(volume)}`;
      return this.#bind(volume, claim, why);
    }
    this.#claimQueue.addAfter(keyOf(claim), RESYNC_MS);
    const className = storageClassOf(claim);
    if (delayBinding && claim.metadata.annotations?.[SELECTED_NODE] === undefined) this.#waitForConsumer(claim);
    else if (className !== "") return this.#provision(claim, className);
    else {
      const message = "no persistent volumes available for this claim and no storage class is set";
      this.#event(claim, "Normal", "FailedBinding", message);
    }
    await setClaimPhase(this.deps.client, claim, "Pending");
  }

  /** Mirrors emitEventForUnboundDelayBindingClaim. */
  #waitForConsumer(claim: Claim): void {
    const pods = this.#pods.list().filter((pod) => (pod.spec?.nodeName ?? "") === "" && usesClaim(pod, claim));
    if (pods.length === 0) {
      this.#event(claim, "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
      return;
    }
    const text = `waiting for pod${pods.length > 1 ? "s" : ""} ${pods.map(nameOf).join(",")} to be scheduled`;
    this.#event(claim, "Normal", "WaitForPodScheduled", text);
  }

  /** Asks the class's provisioner, which watches for the annotation. Mirrors provisionClaimOperationExternal. */
  async #provision(claim: Claim, className: string): Promise<void> {
    const { client, trace, kubeVersion } = this.deps;
    const storageClass = this.#classes.byKey(className);
    if (storageClass === undefined) {
      this.#event(
        claim,
        "Warning",
        "ProvisioningFailed",
        `storageclass.storage.k8s.io ${JSON.stringify(className)} not found`,
      );
      return setClaimPhase(client, claim, "Pending");
    }
    const { provisioner } = storageClass;
    if (provisioner.startsWith(IN_TREE)) {
      this.#event(claim, "Warning", "ProvisioningFailed", `no volume plugin matched name: ${provisioner}`);
      return setClaimPhase(client, claim, "Pending");
    }
    const decision = {
      what: `leave it to ${provisioner} to provision a volume for claim ${keyOf(claim)}`,
      why: `no available volume fits, and it is the provisioner of class ${JSON.stringify(className)}`,
      upstream: { file: FILE, func: "provisionClaimOperationExternal" },
    };
    if (STORAGE_PROVISIONER.some((key) => claim.metadata.annotations?.[key] !== provisioner))
      await decide(trace, decision, () => setProvisioner(client, claim, STORAGE_PROVISIONER, provisioner));
    const message = isAtLeast(kubeVersion, "1.29")
      ? `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
      : `waiting for a volume to be created, either by external provisioner ${JSON.stringify(provisioner)} or manually created by system administrator`;
    this.#event(claim, "Normal", "ExternalProvisioning", message);
    await setClaimPhase(client, claim, "Pending");
  }

  /** The user, or a binding that was interrupted, has named the volume. Mirrors the second half of syncUnboundClaim. */
  async #bindToChosen(claim: Claim, volumeName: string): Promise<void> {
    const { client } = this.deps;
    const volume = this.#volumes.byKey(volumeName);
    if (volume === undefined) return setClaimPhase(client, claim, "Pending");
    if (volume.spec?.claimRef && !isVolumeBoundToClaim(volume, claim)) {
      const text = `volume ${JSON.stringify(volumeName)} already bound to a different claim.`;
      this.#event(claim, "Warning", "FailedBinding", text);
      return setClaimPhase(client, claim, "Pending");
    }
    const problem = whyUnsatisfied(volume, claim);
    if (problem !== undefined) {
      const text = `Cannot bind to requested volume ${JSON.stringify(volumeName)}: ${problem}`;
      this.#event(claim, "Warning", "VolumeMismatch", text);
      return setClaimPhase(client, claim, "Pending");
    }
    await this.#bind(volume, claim, "the claim names this volume");
  }

  /** Mirrors syncBoundClaim. */
  async #syncBound(claim: Claim): Promise<void> {
    const { volumeName = "" } = claim.spec ?? {};
    if (volumeName === "")
      return this.#lost(
        claim,
        "ClaimLost",
        "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
      );
    const volume = this.#volumes.byKey(volumeName);
    if (volume === undefined)
      return this.#lost(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
    if (volume.spec?.claimRef && !isVolumeBoundToClaim(volume, claim)) {
      return this.#lost(
        claim,
        "ClaimMisbound",
        "Two claims are bound to the same volume, this one is bound incorrectly",
      );
    }
    const isDone =
      claim.status?.phase === "Bound" &&
      volume.status?.phase === "Bound" &&
      volume.spec?.claimRef?.uid === claim.metadata.uid;
    if (!isDone) await bind(this.deps.client, volume, claim);
  }

  async #lost(claim: Claim, reason: string, message: string): Promise<void> {
    if (claim.status?.phase === "Lost") return;
    this.#event(claim, "Warning", reason, message);
    await setClaimPhase(this.deps.client, claim, "Lost");
  }

  /** Mirrors syncVolume. */
  async #syncVolume(name: string): Promise<void> {
    const { client } = this.deps;
    const volume = this.#volumes.byKey(name);
    if (volume === undefined) return;
    const ref = volume.spec?.claimRef;
    if (!ref?.uid) return setVolumePhase(client, volume, "Available");
    let claim = this.#claims.get(ref.namespace, ref.name ?? "");
    // The cache may not have a claim that was created just now.
    claim ??= await client.get<Claim>("persistentvolumeclaims", ref.namespace, ref.name ?? "");
    if (claim?.metadata.uid !== ref.uid) return this.#release(volume);
    const { volumeName = "" } = claim.spec ?? {};
    if (volumeName === name) return setVolumePhase(client, volume, "Bound");
    if (volumeName === "") return this.#claimQueue.add(keyOf(claim));
    if (volume.metadata.annotations?.[BOUND_BY_CONTROLLER] === undefined && isTerminating(volume)) return;
    await unbind(client, volume);
  }

  async #release(volume: Volume): Promise<void> {
    const { client, trace } = this.deps;
    const phase = volume.status?.phase;
    if (phase !== "Released" && phase !== "Failed") {
      const { namespace, name } = volume.spec?.claimRef ?? {};
      const decision = {
        what: `release volume ${nameOf(volume)}`,
        why: `its claim ${namespace}/${name} is gone, and its reclaim policy is ${volume.spec?.persistentVolumeReclaimPolicy ?? "Retain"}`,
        upstream: { file: FILE, func: "syncVolume" },
      };
      await decide(trace, decision, () => setVolumePhase(client, volume, "Released"));
    }
    const failure = reclaim(volume);
    if (failure === undefined || phase === "Failed") return;
    this.#event(volume, "Warning", failure.reason, failure.message);
    await setVolumePhase(client, volume, "Failed", failure.message);
  }

  async #bind(volume: Volume, claim: Claim, why: string): Promise<void> {
    const { client, trace } = this.deps;
    const decision = {
      what: `bind claim ${keyOf(claim)} to volume ${nameOf(volume)}`,
      why,
      upstream: { file: FILE, func: "bind" },
    };
    await decide(trace, decision, () => bind(client, volume, claim));
  }

  #event(about: KubeObject, type: EventType, reason: string, message: string): void {
    this.#recorder.event(referenceTo(about), type, reason, message);
  }
}

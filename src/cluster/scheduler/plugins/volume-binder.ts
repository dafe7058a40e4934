import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import { matchesNodeSelectorTerm } from "../../../staging/apimachinery/corev1/node-affinity.js";
import type { LocalClient, WatchItem } from "../../../staging/client-go/dynamic/interface.js";
import type { SharedReflectors } from "../../../staging/client-go/informers/shared-reflector.js";
import {
  boundToClaim,
  type Claim,
  findMatchingVolume,
  isFullyBound,
  NO_PROVISIONER,
  SELECTED_NODE,
  storageClassOf,
  type Volume,
} from "../../../staging/component-helpers/storage/volume.js";
import { ChildAbort } from "../../../util/async/abort.js";
import { waitAtMost } from "../../../util/async/concurrency.js";
import type { Clock } from "../../../util/clock.js";
import type { Reservation } from "../framework.js";
import type { VolumeLookups } from "../lookups.js";
import type { NodeInfo } from "../node-info.js";

const CLAIMS = "persistentvolumeclaims";
/** Mirrors the default of bindTimeoutSeconds in VolumeBindingArgs. */
const BIND_TIMEOUT_MS = 600_000;

export interface VolumeBinderDeps {
  readonly client: LocalClient;
  readonly clock: Clock;
  readonly reflectors: Pick<SharedReflectors, "of">;
  readonly lookups: VolumeLookups;
}

/** What the claims of a pod get on one node. */
interface PodVolumes {
  readonly bindings: readonly { readonly claim: Claim; readonly volume: Volume }[];
  readonly toProvision: readonly Claim[];
}

/**
 * Chooses volumes for claims that wait for their first pod, and has them bound.
 * Mirrors pkg/scheduler/framework/plugins/volumebinding/binder.go.
 */
export class VolumeBinder {
  /** names of volumes that pods have got and the API server does not show yet */
  readonly #reserved = new Set<string>();

  constructor(readonly deps: VolumeBinderDeps) {}

  /** Mirrors FindPodVolumes, for the claims that are not bound. @returns undefined if the node has none for one of them */
  find(claims: readonly Claim[], { node, name }: NodeInfo): PodVolumes | undefined {
    const { lookups } = this.deps;
    const excluded = new Set(this.#reserved);
    const bindings: PodVolumes["bindings"][number][] = [];
    const toProvision: Claim[] = [];
    for (const claim of claims) {
      if (isFullyBound(claim)) continue;
      const selected = claim.metadata.annotations?.[SELECTED_NODE];
      if (selected !== undefined && selected !== name) return undefined;
      const search = { node, excluded, delayBinding: true };
      const volume = selected === undefined ? findMatchingVolume(claim, lookups.volumes(), search) : undefined;
      if (volume !== undefined) {
        bindings.push({ claim, volume });
        excluded.add(nameOf(volume));
      } else if (this.#canProvision(claim, node)) toProvision.push(claim);
      else return undefined;
    }
    return { bindings, toProvision };
  }

  /** Mirrors checkVolumeProvisions. */
  #canProvision(claim: Claim, node: NodeInfo["node"]): boolean {
    const storageClass = this.deps.lookups.storageClass(storageClassOf(claim));
    if (storageClass === undefined || ["", NO_PROVISIONER].includes(storageClass.provisioner)) return false;
    const topologies = storageClass.allowedTopologies ?? [];
    if (topologies.length === 0 || node === undefined) return true;
    return topologies.some(({ matchLabelExpressions = [] }) => {
      const matchExpressions = matchLabelExpressions.map(({ key, values }) => ({ key, operator: "In", values }));
      return matchesNodeSelectorTerm({ matchExpressions }, node);
    });
  }

  /** Keeps the volumes for the pod. Mirrors AssumePodVolumes and BindPodVolumes. @returns undefined if all is bound */
  reserve(claims: readonly Claim[], node: NodeInfo): Reservation | undefined {
    const open = claims.filter((claim) => !isFullyBound(claim));
    const volumes = open.length === 0 ? undefined : this.find(open, node);
    if (volumes === undefined) return undefined;
    const names = volumes.bindings.map(({ volume }) => nameOf(volume));
    for (const name of names) this.#reserved.add(name);
    return {
      preBind: (signal) => this.#bind(volumes, open, node.name, signal),
      release: () => {
        for (const name of names) this.#reserved.delete(name);
      },
    };
  }

  /** Mirrors bindAPIUpdate, then checkBindings until all claims are bound. @throws Error with upstream's words */
  async #bind(
    { bindings, toProvision }: PodVolumes,
    claims: readonly Claim[],
    nodeName: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock } = this.deps;
    using stop = new ChildAbort(signal);
    // Followed before the first write, so that no change is missed.
    const changes = this.deps.reflectors
      .of<Claim>(CLAIMS)
      .changes(stop.signal, { onlyNew: true, receiver: "scheduler" });
    let isBound = false;
    try {
      for (const { claim, volume } of bindings) {
        const bound = (current: Volume) => boundToClaim(current, claim);
        await client.modify<Volume>("persistentvolumes", undefined, nameOf(volume), bound);
      }
      for (const claim of toProvision) {
        await client.modify<Claim>(CLAIMS, claim.metadata.namespace, nameOf(claim), (current) => {
          const annotations = { ...current.metadata.annotations, [SELECTED_NODE]: nodeName };
          return { ...current, metadata: { ...current.metadata, annotations } } as KubeObject;
        });
      }
      const waiting = this.#untilBound(claims, new Set(toProvision), changes);
      await waitAtMost(
        clock,
        BIND_TIMEOUT_MS,
        waiting.then((all) => {
          isBound = all;
        }),
      );
    } finally {
      stop.abort(); // nobody reads the changes any more
    }
    signal.throwIfAborted();
    if (!isBound) throw new Error("timed out waiting for the condition");
  }

  /** @returns false if the changes end before @throws Error if a claim will never be bound on this node */
  async #untilBound(
    claims: readonly Claim[],
    toProvision: ReadonlySet<Claim>,
    changes: AsyncIterable<WatchItem<Claim>>,
  ): Promise<boolean> {
    const open = new Map(claims.map((claim) => [keyOf(claim), claim]));
    // A change says when to look, not what to see: it may be older than the writes.
    const look = async (key: string) => {
      const claim = open.get(key);
      if (claim !== undefined && (await this.#isBound(claim, toProvision.has(claim)))) open.delete(key);
    };
    for (const key of [...open.keys()]) await look(key);
    if (open.size === 0) return true;
    for await (const item of changes) {
      if (item.type !== "initDone") await look(keyOf(item.object));
      if (open.size === 0) return true;
    }
    return false;
  }

  async #isBound({ metadata }: Claim, isProvisioned: boolean): Promise<boolean> {
    const { namespace, name = "" } = metadata;
    const claim = await this.deps.client.get<Claim>(CLAIMS, namespace, name);
    if (claim === undefined) throw new Error(`persistentvolumeclaim ${JSON.stringify(name)} not found`);
    if (isFullyBound(claim)) return true;
    // The provisioner gave up, and took the node away.
    if (isProvisioned && claim.metadata.annotations?.[SELECTED_NODE] === undefined) {
      throw new Error(`provisioning failed for PVC ${JSON.stringify(name)}`);
    }
    return false;
  }
}

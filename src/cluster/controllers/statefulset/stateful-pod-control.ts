import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import type { LocalClient } from "../../../staging/client-go/dynamic/interface.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { messageOf } from "../../../util/errors.js";
import { factFor } from "../../../util/release/facts.js";
import { isNamespaceTerminating, withPodDefaults } from "../support/pod-control.js";
import { isStaleClaim, withRetention } from "./claim-retention.js";
import { CLAIMS, claimsOf, type PersistentVolumeClaim, storageMatches } from "./claims.js";
import { identityMatches, ordinalOf, type StatefulSet } from "./identity.js";
import { withIdentity } from "./stateful-set-utils.js";

type Verb = "create" | "update" | "delete";
const TITLES = { create: "Create", update: "Update", delete: "Delete" } as const;

/**
 * Creates, mends and deletes the pods of a StatefulSet and creates their claims, and records an Event about the set each time.
 * Mirrors pkg/controller/statefulset/stateful_pod_control.go (StatefulPodControl).
 */
export class StatefulPodControl {
  constructor(
    readonly client: Pick<LocalClient, "create" | "modify" | "delete">,
    readonly claims: SharedReflector<PersistentVolumeClaim>,
    readonly recorder: EventRecorder,
    readonly kubeVersion: string,
  ) {}

  /**
   * Creates the pod's claims, then the pod. Mirrors CreateStatefulPod.
   * @throws the API server's refusal, after an event FailedCreate
   */
  async createPod(set: StatefulSet, pod: PodObject): Promise<void> {
    await this.#recorded("create", set, pod, async () => {
      await this.#createClaims(set, pod);
      await this.client.create("pods", set.metadata.namespace, withPodDefaults(pod));
      return true;
    });
  }

  /**
   * Gives a pod the label and the claims that its name stands for. Mirrors UpdateStatefulPod.
   * @throws the API server's refusal, for example because the volumes of a pod cannot change
   */
  async updatePod(set: StatefulSet, pod: PodObject): Promise<void> {
    await this.#recorded("update", set, pod, async () => {
      if (!storageMatches(set, pod)) await this.#createClaims(set, pod);
      await this.keepClaims(set, pod);
      const updated = await this.client.modify<PodObject>("pods", set.metadata.namespace, nameOf(pod), (current) =>
        identityMatches(set, current) && storageMatches(set, current)
          ? current
          : withIdentity(set, current, this.kubeVersion),
      );
      return updated !== undefined;
    });
  }

  /** Deletes a pod with its grace period; its claims stay. Mirrors DeleteStatefulPod. @throws the API server's refusal */
  async deletePod(set: StatefulSet, pod: PodObject): Promise<void> {
    await this.#recorded("delete", set, pod, () => this.client.delete("pods", set.metadata.namespace, nameOf(pod)));
  }

  /** Reports whether the pod's claims have the owners that the retention policy wants. Mirrors ClaimsMatchRetentionPolicy. */
  claimsMatch(set: StatefulSet, pod: PodObject): boolean {
    return !this.#retains || this.#claimsOf(set, pod).every((claim) => withRetention(set, pod, claim) === claim);
  }

  /** Gives the pod's claims these owners. Mirrors UpdatePodClaimForRetentionPolicy. @throws the API server's refusal */
  async keepClaims(set: StatefulSet, pod: PodObject): Promise<void> {
    if (!this.#retains) return;
    for (const { metadata } of this.#claimsOf(set, pod)) {
      await this.client.modify<PersistentVolumeClaim>(CLAIMS, metadata.namespace, metadata.name ?? "", (current) =>
        withRetention(set, pod, current),
      );
    }
  }

  /** Reports whether a claim goes with an earlier pod of this name, so that the pod must wait for another one. Mirrors PodClaimIsStale. */
  hasStaleClaim(set: StatefulSet, pod: PodObject): boolean {
    return this.#retains && this.#claimsOf(set, pod).some((claim) => isStaleClaim(set, pod, claim));
  }

  get #retains(): boolean {
    return factFor("statefulSetAutoDeletePvc", this.kubeVersion);
  }

  /** those that exist */
  #claimsOf(set: StatefulSet, pod: PodObject): readonly PersistentVolumeClaim[] {
    return claimsOf(set, ordinalOf(pod)).flatMap(({ metadata }) => {
      const claim = this.claims.get(metadata.namespace, metadata.name ?? "");
      return claim === undefined ? [] : [claim];
    });
  }

  /** Mirrors recordPodEvent. @param act returns false if the pod was gone, which is no event */
  async #recorded(verb: Verb, set: StatefulSet, pod: PodObject, act: () => Promise<boolean>): Promise<void> {
    const about = referenceTo(set);
    const what = `${verb} Pod ${nameOf(pod)} in StatefulSet ${nameOf(set)}`;
    try {
      if (!(await act())) return;
    } catch (error) {
      // The cache is older than the pod, or every creation fails until the namespace is gone.
      if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) {
        this.recorder.event(about, "Warning", `Failed${TITLES[verb]}`, `${what} failed error: ${messageOf(error)}`);
      }
      throw error;
    }
    this.recorder.event(about, "Normal", `Successful${TITLES[verb]}`, `${what} successful`);
  }

  /** Tries all. Mirrors createPersistentVolumeClaims. @throws what failed, as one message */
  async #createClaims(set: StatefulSet, pod: PodObject): Promise<void> {
    const failures: string[] = [];
    for (const claim of claimsOf(set, ordinalOf(pod))) {
      const name = nameOf(claim);
      const existing = this.claims.get(claim.metadata.namespace, name);
      if (existing === undefined) await this.#createClaim(set, pod, claim, failures);
      else if (isTerminating(existing)) failures.push(`pvc ${name} is being deleted`);
    }
    if (failures.length > 0) throw new Error(failures.length === 1 ? failures[0] : `[${failures.join(", ")}]`);
  }

  async #createClaim(set: StatefulSet, pod: PodObject, claim: PersistentVolumeClaim, failures: string[]) {
    const [about, name] = [referenceTo(set), nameOf(claim)];
    try {
      const owned = this.#retains ? withRetention(set, pod, claim) : claim;
      await this.client.create(CLAIMS, claim.metadata.namespace, owned);
    } catch (error) {
      if (isNamespaceTerminating(error)) throw error;
      failures.push(`failed to create PVC ${name}: ${messageOf(error)}`);
      if (isAlreadyExists(error)) return;
      const message = `create Claim ${name} for Pod ${nameOf(pod)} in StatefulSet ${nameOf(set)} failed error: ${messageOf(error)}`;
      this.recorder.event(about, "Warning", "FailedCreate", message);
      return;
    }
    const message = `create Claim ${name} Pod ${nameOf(pod)} in StatefulSet ${nameOf(set)} success`;
    this.recorder.event(about, "Normal", "SuccessfulCreate", message);
  }
}

function isAlreadyExists(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "AlreadyExists";
}

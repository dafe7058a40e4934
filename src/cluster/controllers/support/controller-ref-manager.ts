import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf } from "../../../staging/apimachinery/api/objects.js";
import { conflict, StatusError } from "../../../staging/apimachinery/errors.js";
import type { LocalClient } from "../../../staging/client-go/dynamic/interface.js";
import type { Trace } from "../../../trace/trace.js";
import { messageOf } from "../../../util/errors.js";
import { controllerOf, newControllerRef } from "./controller-ref.js";
import { asController } from "./shared-deps.js";

const FILE = "pkg/controller/controller_ref_manager.go";

export interface ControllerRefManagerDeps {
  readonly client: Pick<LocalClient, "get" | "modify">;
  readonly trace: Trace;
}

export interface ClaimOptions<T extends KubeObject> {
  readonly owner: KubeObject;
  /** of the owner, for the check before the first adoption: `replicasets.apps` */
  readonly ownerResource: string;
  /** of the claimed objects: `pods` */
  readonly resource: string;
  /** that an adopted object gets: those of the pods of a Job */
  readonly finalizers?: readonly string[];
  /** whether the owner's selector matches */
  matches(object: T): boolean;
}

/**
 * Makes the objects that match an owner's selector the owner's: it adopts those without a controller and releases its own that no
 * longer match. Before the first adoption it asks the API server whether the owner still exists, because its cache may be old.
 *
 * Mirrors pkg/controller/controller_ref_manager.go (PodControllerRefManager, ReplicaSetControllerRefManager,
 * ControllerRevisionControllerRefManager, RecheckDeletionTimestamp).
 */
export class ControllerRefManager<T extends KubeObject> {
  #canAdopt: Promise<void> | undefined;

  constructor(
    readonly deps: ControllerRefManagerDeps,
    readonly options: ClaimOptions<T>,
  ) {}

  /**
   * @returns the objects that belong to the owner now
   * @throws the first failure, after all objects were tried
   */
  async claim(objects: readonly T[]): Promise<T[]> {
    const claimed: T[] = [];
    const failures: unknown[] = [];
    for (const object of objects) {
      try {
        const answer = this.#claimObject(object);
        // Thousands of objects that it has already are no reason to wait.
        if (typeof answer === "boolean" ? answer : await answer) claimed.push(object);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return claimed;
  }

  /** Mirrors ClaimObject. */
  #claimObject(object: T): boolean | Promise<boolean> {
    const { owner, matches } = this.options;
    const ref = controllerOf(object);
    if (ref !== undefined) {
      if (ref.uid !== owner.metadata.uid) return false;
      if (matches(object)) return true;
      return isTerminating(owner) ? false : this.#release(object).then(() => false);
    }
    if (isTerminating(owner) || isTerminating(object) || !matches(object)) return false;
    return this.#adopt(object);
  }

  async #adopt(object: T): Promise<boolean> {
    const { owner, resource, finalizers = [] } = this.options;
    this.#canAdopt ??= this.#recheckDeletionTimestamp();
    await this.#canAdopt.catch((error: unknown) => {
      const { uid } = object.metadata;
      throw new Error(`can't adopt ${object.kind} ${keyOf(object)} (${uid}): ${messageOf(error)}`, { cause: error });
    });
    const why = `it has no controller, and its labels match the selector of ${owner.kind} ${nameOf(owner)}`;
    const adopted = await this.#write(object, "adopt", why, (current) => {
      if (current.metadata.uid !== object.metadata.uid) {
        throw conflict(
          { group: "", resource },
          nameOf(object),
          "the UID in the patch does not match the UID in the object",
        );
      }
      const others = (current.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid);
      const present = current.metadata.finalizers ?? [];
      const added = finalizers.filter((one) => !present.includes(one));
      return {
        ...current,
        metadata: {
          ...current.metadata,
          ownerReferences: [...others, newControllerRef(owner)],
          ...(added.length === 0 ? {} : { finalizers: [...present, ...added] }),
        },
      };
    });
    return adopted !== undefined;
  }

  async #release(object: T): Promise<void> {
    const { owner } = this.options;
    const why = `its labels no longer match the selector of ${owner.kind} ${nameOf(owner)}`;
    try {
      await this.#write(object, "release", why, (current) => {
        const references = current.metadata.ownerReferences ?? [];
        const others = references.filter(({ uid }) => uid !== owner.metadata.uid);
        if (current.metadata.uid !== object.metadata.uid || others.length === references.length) return current;
        const { ownerReferences: _, ...metadata } = current.metadata;
        return { ...current, metadata: others.length === 0 ? metadata : { ...metadata, ownerReferences: others } };
      });
    } catch (error) {
      // The object was replaced, or another client released it.
      if (error instanceof StatusError && error.reason === "Invalid") return;
      throw error;
    }
  }

  #write(object: T, verb: "adopt" | "release", why: string, change: (current: T) => KubeObject) {
    const { trace, client } = this.deps;
    const { resource } = this.options;
    const func =
      verb === "adopt" ? "ClaimObject, ownerRefControllerPatch" : "ClaimObject, deleteOwnerRefStrategicMergePatch";
    const key = keyOf(object);
    const what = verb === "adopt" ? `adopt ${object.kind} ${key}` : `release ${object.kind} ${key}`;
    const cause = asController(trace, { kind: "decision", what, why, upstream: { file: FILE, func } });
    const { namespace } = object.metadata;
    return trace.because(cause, () => client.modify<T>(resource, namespace, nameOf(object), change));
  }

  async #recheckDeletionTimestamp(): Promise<void> {
    const { owner, ownerResource } = this.options;
    const { namespace, uid } = owner.metadata;
    const fresh = await this.deps.client.get(ownerResource, namespace, nameOf(owner));
    const original = `original ${owner.kind} ${keyOf(owner)} is gone`;
    if (fresh === undefined) throw new Error(original);
    if (fresh.metadata.uid !== uid) throw new Error(`${original}: got uid ${fresh.metadata.uid}, wanted ${uid}`);
    if (!isTerminating(fresh)) return;
    throw new Error(`${keyOf(owner)} has just been deleted at ${fresh.metadata.deletionTimestamp}`);
  }
}

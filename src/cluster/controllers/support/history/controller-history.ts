import type { V1LabelSelector } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { StatusError } from "../../../../staging/apimachinery/errors.js";
import { matchesSelector } from "../../../../staging/apimachinery/selector.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import type { SharedReflector } from "../../../../staging/client-go/informers/shared-reflector.js";
import { controllerOf } from "../controller-ref.js";
import { ControllerRefManager } from "../controller-ref-manager.js";
import type { SharedDeps } from "../shared-deps.js";
import { type ChangeSource, changesOf, decide } from "../sync-loop.js";
import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  controllerRevisionName,
  equalRevision,
  hashControllerRevision,
} from "./controller-revision.js";

const FILE = "pkg/controller/history/controller_history.go";

/** The workload whose revisions are meant. */
export interface HistoryOwner {
  readonly object: KubeObject;
  /** `statefulsets.apps`, for the check before the first adoption */
  readonly resource: string;
  readonly selector: Wire<V1LabelSelector> | undefined;
}

/** Why old revisions are deleted, for the trace. */
interface DeletionReason {
  readonly count: number;
  readonly limit: number;
  readonly upstream: { readonly file: string; readonly func: string };
}

/**
 * The stored revisions of workloads: it lists, adopts, creates, renumbers and deletes them.
 * Mirrors pkg/controller/history/controller_history.go (realHistory).
 */
export class ControllerHistory {
  readonly #revisions: SharedReflector<ControllerRevision>;

  constructor(readonly deps: Pick<SharedDeps, "client" | "trace" | "reflectors">) {
    this.#revisions = deps.reflectors.of<ControllerRevision>(CONTROLLER_REVISIONS);
  }

  /** The controller waits for their cache, and needs no sync for their changes. */
  get source(): ChangeSource {
    return changesOf(this.#revisions, {});
  }

  /** Those that the selector matches, and that the owner or no controller has. Mirrors ListControllerRevisions. */
  list({ object, selector }: HistoryOwner): ControllerRevision[] {
    const { uid } = object.metadata;
    return this.#inNamespaceOf(object).filter((revision) => {
      const ref = controllerOf(revision);
      return (ref === undefined || ref.uid === uid) && matchesSelector(selector, revision.metadata.labels);
    });
  }

  /**
   * Adopts those without a controller that the selector matches, and releases own ones that it no longer matches.
   * Mirrors AdoptControllerRevision and ReleaseControllerRevision.
   * @param revisions default: all of the namespace
   * @returns those that belong to the owner now
   */
  claim(owner: HistoryOwner, revisions?: readonly ControllerRevision[]): Promise<ControllerRevision[]> {
    const { object, resource, selector } = owner;
    const manager = new ControllerRefManager<ControllerRevision>(this.deps, {
      owner: object,
      ownerResource: resource,
      resource: CONTROLLER_REVISIONS,
      matches: (revision) => matchesSelector(selector, revision.metadata.labels),
    });
    return manager.claim(revisions ?? this.#inNamespaceOf(object));
  }

  #inNamespaceOf({ metadata: { namespace } }: KubeObject): ControllerRevision[] {
    return this.#revisions.list().filter(({ metadata }) => metadata.namespace === namespace);
  }

  /**
   * Stores a revision. If its name is taken by other data, it gets another hash. Mirrors CreateControllerRevision.
   * @param collisionCount of the owner's status
   * @returns the revision as it is stored, which may have existed, and the new collision count
   * @throws the API server's refusal
   */
  async create(
    parent: KubeObject,
    revision: ControllerRevision,
    collisionCount: number,
  ): Promise<{ readonly revision: ControllerRevision; readonly collisionCount: number }> {
    const { client } = this.deps;
    const { namespace } = parent.metadata;
    for (let count = collisionCount; ; count++) {
      const name = controllerRevisionName(nameOf(parent), hashControllerRevision(revision, count));
      const wanted = { ...revision, metadata: { ...revision.metadata, name } };
      try {
        const created = await client.create<ControllerRevision>(CONTROLLER_REVISIONS, namespace, wanted);
        return { revision: created, collisionCount: count };
      } catch (error) {
        if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
        const existing = await client.get<ControllerRevision>(CONTROLLER_REVISIONS, namespace, name);
        if (existing === undefined) throw error;
        if (equalRevision(existing, wanted)) return { revision: existing, collisionCount: count };
        this.#reportCollision(parent, name, count + 1);
      }
    }
  }

  #reportCollision(parent: KubeObject, name: string, collisionCount: number): void {
    const what = `count ${collisionCount} in the hash of the next revision of ${parent.kind} ${keyOf(parent)}`;
    const why = `another ControllerRevision has the name ${name}`;
    decide(this.deps.trace, { what, why, upstream: { file: FILE, func: "CreateControllerRevision" } }, () => {});
  }

  /**
   * Gives a revision another number, again after a conflict. Mirrors UpdateControllerRevision.
   * @returns the revision as it is stored
   * @throws the API server's refusal
   */
  async update(revision: ControllerRevision, newRevision: number): Promise<ControllerRevision> {
    if (revision.revision === newRevision) return revision;
    const { namespace } = revision.metadata;
    const name = nameOf(revision);
    const renumber = (current: ControllerRevision) =>
      current.revision === newRevision ? current : { ...current, revision: newRevision };
    const written = await this.deps.client.modify(CONTROLLER_REVISIONS, namespace, name, renumber);
    if (written === undefined) throw new Error(`ControllerRevision ${keyOf(revision)} is gone`);
    return written;
  }

  /**
   * Deletes the oldest of the revisions that nothing uses. Mirrors DeleteControllerRevision.
   * @param unused sorted by revision
   * @param reason.count the number of old revisions that the limit counts; those beyond it are deleted
   */
  async deleteOldest(
    parent: KubeObject,
    unused: readonly ControllerRevision[],
    { count, limit, upstream }: DeletionReason,
  ): Promise<void> {
    const { client, trace } = this.deps;
    const why = `${parent.kind} ${keyOf(parent)} has ${count} old revisions, and revisionHistoryLimit is ${limit}`;
    for (const revision of unused.slice(0, Math.max(0, count - limit))) {
      const what = `delete ControllerRevision ${keyOf(revision)}, revision ${revision.revision}`;
      const { namespace } = revision.metadata;
      await decide(trace, { what, why, upstream }, () =>
        client.delete(CONTROLLER_REVISIONS, namespace, nameOf(revision)),
      );
    }
  }
}

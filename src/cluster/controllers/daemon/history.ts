import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import { defined } from "../../../util/defined.js";
import { computeHash } from "../support/compute-hash.js";
import { newControllerRef } from "../support/controller-ref.js";
import type { ControllerHistory } from "../support/history/controller-history.js";
import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  templatePatch,
} from "../support/history/controller-revision.js";
import { decide } from "../support/sync-loop.js";
import type { DaemonPass, PassDeps } from "./pass.js";
import { DAEMON_SETS, type DaemonSet, REVISION_HASH } from "./util/daemonset-util.js";

/** The revisions of a DaemonSet's template. Mirrors pkg/controller/daemon/update.go. */

const FILE = "pkg/controller/daemon/update.go";

export interface HistoryDeps extends Pick<PassDeps, "client" | "trace" | "claimPods" | "written"> {
  readonly history: ControllerHistory;
}

export interface History {
  /** has the current template */
  readonly current: ControllerRevision;
  readonly old: readonly ControllerRevision[];
}

/**
 * Finds the revision with the current template, or creates it; its number is the highest. Mirrors constructHistory.
 * @throws the API server's refusal; after a collision of names the next attempt finds another name
 */
export async function constructHistory(deps: HistoryDeps, set: DaemonSet): Promise<History> {
  const owner = { object: set, resource: DAEMON_SETS, selector: set.spec?.selector };
  const all: ControllerRevision[] = [];
  for (const revision of await deps.history.claim(owner)) all.push(await withHash(deps, revision));
  const old = all.filter((revision) => !hasTemplateOf(set, revision));
  const same = all.filter((revision) => hasTemplateOf(set, revision));
  const number = Math.max(0, ...old.map(({ revision }) => revision)) + 1;
  const current = await dedupCurHistories(deps, set, same);
  if (current === undefined) return { current: await snapshot(deps, set, number, old.length), old };
  return { current: current.revision < number ? await renumber(deps, set, current, number) : current, old };
}

/** Reports whether the revision keeps the current template. Mirrors Match. */
function hasTemplateOf(set: DaemonSet, { data }: ControllerRevision): boolean {
  return sameJson(templatePatch(set), data);
}

/** A revision of an old release has no hash: its name serves as one. */
async function withHash({ client }: HistoryDeps, revision: ControllerRevision): Promise<ControllerRevision> {
  const { metadata } = revision;
  if (metadata.labels?.[REVISION_HASH] !== undefined) return revision;
  const labels = { ...metadata.labels, [REVISION_HASH]: nameOf(revision) };
  return client.update(CONTROLLER_REVISIONS, { ...revision, metadata: { ...metadata, labels } });
}

function renumber({ history, trace }: HistoryDeps, set: DaemonSet, current: ControllerRevision, number: number) {
  const decision = {
    what: `make ControllerRevision ${keyOf(current)} revision ${number}`,
    why: `DaemonSet ${keyOf(set)} has its template again; it was revision ${current.revision}`,
    upstream: { file: FILE, func: "constructHistory" },
  };
  return decide(trace, decision, () => history.update(current, number));
}

/** Of several revisions with one template the last stays, and pods of the others get its hash. Mirrors dedupCurHistories. */
async function dedupCurHistories(
  deps: HistoryDeps,
  set: DaemonSet,
  same: readonly ControllerRevision[],
): Promise<ControllerRevision | undefined> {
  const [first, ...others] = same;
  if (first === undefined || others.length === 0) return first;
  const { client, trace } = deps;
  const kept = others.reduce((last, one) => (one.revision >= last.revision ? one : last), first);
  const hash = kept.metadata.labels?.[REVISION_HASH] ?? "";
  for (const duplicate of same.filter((one) => one !== kept)) {
    const decision = {
      what: `delete ControllerRevision ${keyOf(duplicate)}`,
      why: `it has the same template as ${keyOf(kept)}`,
      upstream: { file: FILE, func: "dedupCurHistories" },
    };
    await decide(trace, decision, async () => {
      for (const pod of await deps.claimPods(set)) {
        if (pod.metadata.labels?.[REVISION_HASH] !== hash) await relabel(deps, pod, hash);
      }
      await client.delete(CONTROLLER_REVISIONS, duplicate.metadata.namespace, nameOf(duplicate));
    });
  }
  return kept;
}

async function relabel({ client }: HistoryDeps, pod: PodObject, hash: string): Promise<void> {
  await client.modify<PodObject>("pods", pod.metadata.namespace, nameOf(pod), (current) => {
    const labels = { ...current.metadata.labels, [REVISION_HASH]: hash };
    return { ...current, metadata: { ...current.metadata, labels } };
  });
}

/** Keeps the current template as a new revision. Mirrors snapshot. */
async function snapshot(
  deps: HistoryDeps,
  set: DaemonSet,
  number: number,
  oldCount: number,
): Promise<ControllerRevision> {
  const { client, trace } = deps;
  const wanted = newRevision(set, number);
  const { namespace } = wanted.metadata;
  const decision = {
    what: `create ControllerRevision ${keyOf(wanted)} as revision ${number}`,
    why: `none of the ${oldCount} revisions of DaemonSet ${keyOf(set)} has its template`,
    upstream: { file: FILE, func: "snapshot" },
  };
  return decide(trace, decision, async () => {
    try {
      return await client.create<ControllerRevision>(CONTROLLER_REVISIONS, namespace, wanted);
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
      const existing = await client.get<ControllerRevision>(CONTROLLER_REVISIONS, namespace, nameOf(wanted));
      if (existing === undefined) throw error;
      if (hasTemplateOf(set, existing)) return existing;
      await countCollision(deps, set);
      throw error;
    }
  });
}

function newRevision(set: DaemonSet, revision: number): ControllerRevision {
  const { metadata, spec, status } = set;
  const { namespace, annotations } = metadata;
  const hash = computeHash(spec?.template ?? {}, status?.collisionCount);
  const labels = { ...spec?.template.metadata?.labels, [REVISION_HASH]: hash };
  const name = `${nameOf(set)}-${hash}`;
  const ownerReferences = [newControllerRef(set)];
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: { ...defined({ namespace, annotations }), name, labels, ownerReferences },
    data: templatePatch(set),
    revision,
  };
}

/** The next attempt gets another hash. */
async function countCollision({ client, written }: HistoryDeps, set: DaemonSet): Promise<void> {
  const { namespace } = set.metadata;
  const latest = await client.get<DaemonSet>(DAEMON_SETS, namespace, nameOf(set));
  if (latest === undefined) throw new Error(`DaemonSet ${keyOf(set)} is gone`);
  const { collisionCount } = latest.status ?? {};
  if (collisionCount !== set.status?.collisionCount) {
    const counts = `(${set.status?.collisionCount ?? 0}, expected ${collisionCount ?? 0})`;
    throw new Error(`found a stale collision count ${counts} of DaemonSet ${keyOf(set)}`);
  }
  const status = { ...latest.status, collisionCount: (collisionCount ?? 0) + 1 };
  written.remember(await client.update<DaemonSet>(DAEMON_SETS, { ...latest, status } as DaemonSet, "status"));
}

/** Deletes the oldest revisions beyond `revisionHistoryLimit`, except those of pods. Mirrors cleanupHistory. */
export async function cleanupHistory(
  { history }: HistoryDeps,
  pass: DaemonPass,
  old: readonly ControllerRevision[],
): Promise<void> {
  const limit = pass.set.spec?.revisionHistoryLimit ?? 10;
  if (old.length <= limit) return;
  const pods = [...(await pass.podsByNode()).values()].flat();
  const live = new Set(pods.map(({ metadata }) => metadata.labels?.[REVISION_HASH]));
  const unused = old.filter(({ metadata }) => !live.has(metadata.labels?.[REVISION_HASH]));
  unused.sort((a, b) => a.revision - b.revision);
  const upstream = { file: FILE, func: "cleanupHistory" };
  await history.deleteOldest(pass.set, unused, { count: old.length, limit, upstream });
}

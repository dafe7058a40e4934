import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { Trace } from "../../../trace/trace.js";
import type { ControllerHistory, HistoryOwner } from "../support/history/controller-history.js";
import {
  byRevision,
  type ControllerRevision,
  equalRevision,
  findEqualRevisions,
  newControllerRevision,
  nextRevision,
} from "../support/history/controller-revision.js";
import { decide } from "../support/sync-loop.js";
import { STATEFUL_SETS, type StatefulSet } from "./identity.js";
import { podRevision } from "./stateful-set-utils.js";

const FILE = "pkg/controller/statefulset/stateful_set_control.go";

export interface RevisionsDeps {
  readonly history: ControllerHistory;
  readonly trace: Trace;
}

/** The current and the update revision of a set's pods. */
export interface SetRevisions {
  readonly current: ControllerRevision;
  readonly update: ControllerRevision;
  readonly collisionCount: number;
}

export function historyOwner(set: StatefulSet): HistoryOwner {
  return { object: set, resource: STATEFUL_SETS, selector: set.spec?.selector };
}

/** Adopts the revisions that match and have no controller. Mirrors adoptOrphanRevisions in stateful_set.go. */
export async function adoptOrphanRevisions({ history }: RevisionsDeps, set: StatefulSet): Promise<void> {
  const owner = historyOwner(set);
  await history.claim(owner, history.list(owner));
}

/**
 * Finds the revision of the set's template, or makes it. Mirrors getStatefulSetRevisions.
 * @param revisions sorted by revision
 * @throws the API server's refusal
 */
export async function getStatefulSetRevisions(
  { history, trace }: RevisionsDeps,
  set: StatefulSet,
  revisions: readonly ControllerRevision[],
): Promise<SetRevisions> {
  const count = set.status?.collisionCount ?? 0;
  const wanted = withAnnotationsOf(set, newControllerRevision(set, nextRevision(revisions), count));
  const equal = findEqualRevisions(revisions, wanted).at(-1);
  const last = revisions.at(-1);
  const upstream = { file: FILE, func: "getStatefulSetRevisions" };
  const finish = (update: ControllerRevision, collisionCount = count): SetRevisions => {
    const current = revisions.find((one) => nameOf(one) === set.status?.currentRevision);
    return { current: current ?? update, update, collisionCount };
  };
  if (equal !== undefined && last !== undefined && equalRevision(last, equal)) return finish(last);
  if (equal !== undefined) {
    const what = `make ControllerRevision ${keyOf(equal)} revision ${wanted.revision}, it was ${equal.revision}`;
    const why = `StatefulSet ${keyOf(set)} has its template again`;
    return finish(await decide(trace, { what, why, upstream }, () => history.update(equal, wanted.revision)));
  }
  const what = `create ControllerRevision ${keyOf(wanted)} as revision ${wanted.revision}`;
  const why = `none of the ${revisions.length} revisions of StatefulSet ${keyOf(set)} has its template`;
  const { revision, collisionCount } = await decide(trace, { what, why, upstream }, () =>
    history.create(set, wanted, count),
  );
  return finish(revision, collisionCount);
}

/** Mirrors newRevision in stateful_set_utils.go. */
function withAnnotationsOf(set: StatefulSet, revision: ControllerRevision): ControllerRevision {
  const { annotations } = set.metadata;
  return annotations === undefined ? revision : { ...revision, metadata: { ...revision.metadata, annotations } };
}

/**
 * Deletes the oldest revisions beyond `revisionHistoryLimit` of those that neither the set nor a pod uses. Mirrors truncateHistory.
 * @param inUse undefined if they could not be found
 */
export async function truncateHistory(
  { history }: RevisionsDeps,
  set: StatefulSet,
  pods: readonly PodObject[],
  revisions: readonly ControllerRevision[],
  inUse: SetRevisions | undefined,
): Promise<void> {
  const live = new Set(pods.map(podRevision));
  if (inUse !== undefined) live.add(nameOf(inUse.current)).add(nameOf(inUse.update));
  const unused = [...revisions].sort(byRevision).filter((one) => !live.has(nameOf(one)));
  const limit = set.spec?.revisionHistoryLimit ?? 10;
  const upstream = { file: FILE, func: "truncateHistory" };
  if (limit >= 0) await history.deleteOldest(set, unused, { count: unused.length, limit, upstream });
}

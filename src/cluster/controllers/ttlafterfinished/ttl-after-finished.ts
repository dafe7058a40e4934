import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf } from "../../../staging/apimachinery/api/objects.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { Controller } from "../controller.js";
import { finishedCondition, JOBS, type JobObject } from "../job/utils.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, decide, runSyncLoop } from "../support/sync-loop.js";

const NAME = "ttl-after-finished";
const FILE = "pkg/controller/ttlafterfinished/ttlafterfinished_controller.go";

/**
 * Deletes finished jobs, with their pods, when spec.ttlSecondsAfterFinished has passed.
 * Mirrors pkg/controller/ttlafterfinished/ttlafterfinished_controller.go.
 */
export function createTtlAfterFinishedController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new TtlAfterFinishedRun(deps).run(signal) };
}

class TtlAfterFinishedRun {
  readonly #jobs: SharedReflector<JobObject>;
  readonly #queue: WorkQueue;

  constructor(readonly deps: SharedDeps) {
    this.#jobs = deps.reflectors.of<JobObject>(JOBS);
    this.#queue = new WorkQueue(deps.clock);
  }

  run(signal: AbortSignal): Promise<void> {
    const enqueue = (job: JobObject) => {
      if (expiryMs(job) !== undefined) this.#queue.add(keyOf(job));
    };
    const jobs = changesOf(this.#jobs, { added: enqueue, updated: (_previous, job) => enqueue(job) });
    const { trace } = this.deps;
    const sync = (key: string) => this.#processJob(key);
    return runSyncLoop({ name: NAME, trace, queue: this.#queue, sources: [jobs], sync }, signal);
  }

  async #processJob(key: string): Promise<void> {
    const { client, trace } = this.deps;
    const cached = this.#jobs.byKey(key);
    if (cached === undefined || !this.#isExpired(cached)) return;
    // The TTL in the cache may be old: only what the API server has now counts.
    const job = await client.get<JobObject>(JOBS, cached.metadata.namespace, nameOf(cached));
    if (job === undefined || !this.#isExpired(job)) return;
    const { uid } = job.metadata;
    const decision = {
      what: `delete Job ${key} and its pods`,
      why: `${whyExpired(job)}, which has passed`,
      upstream: { file: FILE, func: "processJob" },
    };
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    await decide(trace, decision, () =>
      client.delete(JOBS, job.metadata.namespace, nameOf(job), { propagationPolicy: "Foreground", ...preconditions }),
    );
  }

  /** If not yet, it comes back at that time. Mirrors processTTL. */
  #isExpired(job: JobObject): boolean {
    const { clock, trace } = this.deps;
    const atMs = expiryMs(job);
    if (atMs === undefined) return false;
    const leftMs = atMs - clock.now();
    if (leftMs <= 0) return true;
    const what = `look at Job ${keyOf(job)} again in ${leftMs / 1000}s`;
    const decision = { what, why: whyExpired(job), upstream: { file: FILE, func: "processTTL" } };
    decide(trace, decision, () => this.#queue.addAfter(keyOf(job), leftMs), 2);
    return false;
  }
}

/** Unix ms; undefined for a job that has not finished, has no TTL, or is being deleted. Mirrors getFinishAndExpireTime. */
function expiryMs(job: JobObject): number | undefined {
  const { ttlSecondsAfterFinished: seconds } = job.spec ?? {};
  const { lastTransitionTime } = finishedCondition(job) ?? {};
  if (isTerminating(job) || typeof seconds !== "number" || !lastTransitionTime) return undefined;
  return Date.parse(lastTransitionTime) + seconds * 1000;
}

function whyExpired(job: JobObject): string {
  const seconds = job.spec?.ttlSecondsAfterFinished ?? 0;
  const { type, lastTransitionTime } = finishedCondition(job) ?? {};
  const expiry = rfc3339(expiryMs(job) ?? 0);
  return `it was ${type} at ${lastTransitionTime}, ttlSecondsAfterFinished ${seconds}: until ${expiry}`;
}

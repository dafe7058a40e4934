import { collectionPath, NODE_LEASES, objectPath } from "../../../staging/client-go/rest/paths.js";
import {
  type LeaseController,
  type LeaseObject,
  RENEWAL,
  RETRY,
} from "../../../staging/component-helpers/lease/controller.js";
import type { LeaseOutcome } from "../../../staging/component-helpers/lease/lease-observer.js";
import { AsyncQueue } from "../../../util/async/async-queue.js";
import type { RunParts } from "../../chaos/stage.js";
import { call, changed, type Methods, make, replace, type Written } from "./part.js";

/** What the nodes of the embedded cluster use: their leases last 40 s. */
const LEASE_DURATION_S = 40;
const JITTER_FACTOR = 0.04;

/** The time between two renewals. */
export function renewInterval(written: Written): RunParts {
  return changed(written, (module, { deps }) => {
    const random = () => deps.random.float();
    const intervalMs = () => call<number>(module, "renewInterval", LEASE_DURATION_S);
    const nextSleepMs = () => call<number>(module, "jitter", intervalMs(), JITTER_FACTOR, random);
    replace(deps.agent.lease, { nextSleepMs });
  });
}

/** A round of the loop; the time between two stays kubelab's. */
export function leaseLoop(written: Written): RunParts {
  return changed(written, (module, { deps: { agent } }) =>
    replace(agent.lease, { sync: roundOf(module, agent.lease) }),
  );
}

function roundOf(written: Methods, own: LeaseController): LeaseController["sync"] {
  const { deps, observer, options } = own;
  let signal = new AbortController().signal;
  let last = { renewTime: "", why: "" };
  const ask = async (request: Parameters<LeaseController["attempt"]>[0]) => {
    // Without an answer there is no status: the learner's code knows one sort of failure.
    const { lease, status = 500, why } = await own.attempt(request, signal);
    last = { renewTime: lease?.spec.renewTime ?? last.renewTime, why };
    return lease === undefined ? { status } : { status, lease };
  };
  const path = objectPath(NODE_LEASES, options.nodeName);
  const client = {
    get: () => ask({ method: "GET", path }),
    create: (body: LeaseObject) => ask({ method: "POST", path: collectionPath(NODE_LEASES), body }),
    update: (body: LeaseObject) => ask({ method: "PUT", path, body }),
  };
  const clock = {
    now: () => deps.clock.now(),
    sleep: async (ms: number) => {
      observer.unavailable(last.why, ms);
      await deps.clock.sleep(ms, signal, RETRY);
    },
  };
  const controller = make(written, "LeaseController", client, clock, {
    nodeName: options.nodeName,
    leaseDurationSeconds: LEASE_DURATION_S,
  });
  return async (now) => {
    signal = now;
    const type = await call<"created" | "renewed" | "failed">(controller, "sync");
    return { type, ...last };
  };
}

/** The loop around the rounds, which stay kubelab's. */
export function keepLease(written: Written): RunParts {
  return changed(written, (module, { deps: { agent } }) => {
    const { lease } = agent;
    const own = { deps: lease.deps, observer: lease.observer, sync: lease.sync.bind(lease) };
    replace(lease, { run: (signal) => roundsOf(module, own, signal) });
  });
}

async function* roundsOf(
  written: Methods,
  { deps, observer, sync }: Pick<LeaseController, "deps" | "observer" | "sync">,
  signal: AbortSignal,
): AsyncGenerator<LeaseOutcome> {
  const outcomes = new AsyncQueue<LeaseOutcome>();
  let isFirst = true;
  const renew = async () => {
    // The start of the node has made the first round, because it must have a Lease before it counts as joined.
    if (isFirst) {
      isFirst = false;
      return "renewed";
    }
    const outcome = await sync(signal);
    observer.ended(outcome);
    outcomes.push(outcome);
    return outcome.type;
  };
  const clock = { now: () => deps.clock.now(), sleep: (ms: number) => deps.clock.sleep(ms, signal, RENEWAL) };
  const options = { leaseDurationSeconds: LEASE_DURATION_S };
  const loop = call<Promise<void>>(written, "keepLease", { renew }, clock, options, () => deps.random.float());
  void loop.catch(() => {}).finally(() => outcomes.close());
  yield* outcomes.iterate(signal);
  await loop;
}

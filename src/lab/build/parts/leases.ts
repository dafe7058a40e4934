import { isSuccess } from "../../../staging/client-go/rest/answers.js";
import type { KubeRequest } from "../../../staging/client-go/rest/client.js";
import { collectionPath, NODE_LEASES, objectPath } from "../../../staging/client-go/rest/paths.js";
import { type LeaseController, type LeaseObject, RETRY } from "../../../staging/component-helpers/lease/controller.js";
import { call, changed, type Methods, make, type Part, replace, type Written } from "./part.js";

/** What the nodes of the embedded cluster use: their leases last 40 s. */
const LEASE_DURATION_S = 40;
const JITTER_FACTOR = 0.04;

/** The time between two renewals. */
export function renewInterval(written: Written): Part {
  return changed(written, (module, { deps }) => {
    const random = () => deps.random.float();
    const intervalMs = () => call<number>(module, "renewInterval", LEASE_DURATION_S);
    const nextSleepMs = () => call<number>(module, "jitter", intervalMs(), JITTER_FACTOR, random);
    replace(deps.agent.lease, { nextSleepMs });
  });
}

/** A round of the loop; the time between two stays kubelab's. */
export function leaseLoop(written: Written): Part {
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

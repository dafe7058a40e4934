import { convertState, generateEvents, isSyncPodWorthy } from "../../../src/kubelet/pleg/events.js";
import { getPhase } from "../../../src/kubelet/status/phase.js";
import { renewIntervalMs } from "../../../src/staging/component-helpers/lease/lease-observer.js";
import { factFor } from "../../../src/util/release/facts.js";

const KUBE_VERSION = "1.25";

/** kubelab's own module for each task, with the signature that the learner's file has. */
export const OWN_MODULES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "renew-interval": {
    renewInterval: (leaseDurationSeconds: number) =>
      renewIntervalMs({ kubeVersion: KUBE_VERSION, leaseDurationSeconds }),
    nextBackoff: (lastMs: number | undefined) =>
      lastMs === undefined
        ? factFor("leaseBackoffInitial", KUBE_VERSION)
        : Math.min(lastMs * 2, factFor("leaseBackoffMax", KUBE_VERSION)),
    jitter: (ms: number, factor: number, random: () => number) => ms * (1 + random() * factor),
  },
  "generate-events": { generateEvents, convertState, isSyncPodWorthy },
  phase: { getPhase },
};

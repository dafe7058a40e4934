import type { KubeletHooks } from "../../kubelet/app/kubelet.js";
import type { LivePart } from "./task.js";

type Call = (...args: readonly unknown[]) => never;

/** What the nodes of the embedded cluster use: their leases last 40 s. */
const LEASE_DURATION_S = 40;
const JITTER_FACTOR = 0.04;

/** Puts the learner's functions in the place of kubelab's own, in each kubelet of a run. */
export function hooksFor(part: LivePart, written: Readonly<Record<string, unknown>>): KubeletHooks {
  const call = (name: string) => written[name] as Call;
  switch (part) {
    case "getPhase":
      return { getPhase: (spec, statuses) => call("getPhase")(spec, statuses) };
    case "generateEvents":
      return { generateEvents: (ref, before, after) => call("generateEvents")(ref, before, after) };
    case "lease":
      return {
        made: ({ deps }) => {
          const random = () => deps.random.float();
          const nextSleepMs = () => call("jitter")(call("renewInterval")(LEASE_DURATION_S), JITTER_FACTOR, random);
          Object.assign(deps.agent.lease, { nextSleepMs });
        },
      };
  }
}

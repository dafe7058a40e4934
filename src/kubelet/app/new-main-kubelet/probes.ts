import { ProbeManager } from "../../prober/manager.js";
import { NetworkDialer, PortForwardDialer, type ProbeDialer } from "../../prober/probe-dialer.js";
import { Prober } from "../../prober/prober.js";
import { forwardToPod, podAt } from "../../sync/probe-forward.js";
import type { Later } from "./inputs.js";
import type { WithPods } from "./pods.js";

export type WithProbes = WithPods & ReturnType<typeof newProbes>;

/** Probes, and how they and hooks reach a pod. */
export function newProbes(kubelet: WithPods, later: Later) {
  const { ctx, recording, options, statusManager } = kubelet;
  const dialer = kubelet.deps.dialer ?? portForwards(kubelet, later);
  const runner = { runInContainer: (...args: RunInContainer) => later.runtime().runInContainer(...args) };
  const prober = new ProbeManager(
    { ...ctx, statusManager, prober: new Prober({ ...recording, dialer, runner }, options) },
    options,
  );
  return { dialer, prober };
}

type RunInContainer = Parameters<ReturnType<Later["runtime"]>["runInContainer"]>;

/** Reaches a pod through its runtime: there may be no route to its address. */
function portForwards({ ctx, podCache, podManager }: WithPods, later: Later): ProbeDialer {
  return new PortForwardDialer({
    forward: forwardToPod({
      ...ctx,
      getUrl: (uid, port, signal) => later.runtime().getPortForward(uid, [port], signal),
    }),
    podAt: (address) => podAt(podCache, podManager, address),
    others: new NetworkDialer(),
  });
}

import { AsyncQueue } from "../../../util/async/async-queue.js";
import { defined } from "../../../util/defined.js";
import { factFor } from "../../../util/release/facts.js";
import { KubeRuntime } from "../../kuberuntime/kube-runtime.js";
import { RemotePodReader } from "../../kuberuntime/remote-pod-reader.js";
import { RuntimeObserver } from "../../kuberuntime/report.js";
import type { PodLifecycleEvent } from "../../pleg/events.js";
import { GenericPleg } from "../../pleg/generic.js";
import { genericRelistDuration } from "../../pleg/health.js";
import { ContainerDeletor } from "../../sync/container-deletor.js";
import type { WithStats } from "./stats.js";

export type WithPleg = WithStats & ReturnType<typeof newPleg>;

/** PLEG, its channel, and what removes dead containers by its events. */
export function newPleg({ ctx, deps, options, signal, polling, podCache, runtime, containerGc }: WithStats) {
  const plegEvents = new AsyncQueue<PodLifecycleEvent>(factFor("plegChannelCapacity", options.kubeVersion));
  const pleg = new GenericPleg(
    {
      ...ctx,
      runtime: new KubeRuntime({
        service: new RemotePodReader(polling.runtime),
        observer: new RuntimeObserver(ctx.trace),
      }),
      cache: podCache,
      events: plegEvents,
      ...defined({ generateEvents: deps.hooks?.generateEvents }),
      causeOf: (containerId) => deps.cri.causes.of(containerId),
    },
    genericRelistDuration(options.kubeVersion),
  );
  const containerDeletor = new ContainerDeletor(
    { ...ctx, runtime, onDeleted: () => pleg.relistSoon() },
    Math.max(1, containerGc.policy.maxPerPodContainer),
    signal,
  );
  return { plegEvents, pleg, containerDeletor };
}

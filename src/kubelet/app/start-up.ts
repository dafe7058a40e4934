import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { durationText } from "../../util/release/fact.js";
import { factFor } from "../../util/release/facts.js";
import { STATUS_CHANNEL_CAPACITY } from "../status/manager.js";
import type { Kubelet } from "./kubelet.js";
import { absent, type KubeletModule, part } from "./modules.js";

const SERVER = "cmd/kubelet/app/server.go";

/**
 * What a kubelet is made from, in upstream's order, with the parts that this kubelet does not have.
 * Mirrors run, makeEventRecorder, RunKubelet and createAndInitKubelet in cmd/kubelet/app/server.go.
 */
export function dependencies(): KubeletModule[] {
  return [
    absent("run", "cloud provider", "because no cloud runs this machine"),
    part("run", "client of the API server", "with the node's certificate, one for pods, events and heartbeats"),
    absent("run", "cAdvisor", "because the runtime's statistics take its place"),
    part("makeEventRecorder", "event recorder", "writing Events to the API server"),
    part("run", "container manager", "managing devices, without cgroups of its own"),
    absent("run", "OOM adjuster", "because this process keeps its OOM score"),
    part("RunKubelet", "kubelet", "by createAndInitKubelet, then startKubelet"),
    part("createAndInitKubelet", "kubelet", "with NewMainKubelet, BirthCry and StartGarbageCollection"),
  ].map((one) => ({ ...one, file: SERVER }));
}

/** The parts whose periods and sizes NewMainKubelet passes on: pod workers and status manager. */
export function newWorkers({ config, options: { kubeVersion } }: Kubelet): KubeletModule[] {
  const resync = durationText(parseGoDuration(config.syncFrequency));
  const backOff = durationText(factFor("podWorkerBackOffPeriod", kubeVersion));
  const transient = durationText(factFor("podWorkerTransientBackOffPeriod", kubeVersion));
  const again = `syncing a pod again after ${resync}, ${backOff} after an error, ${transient} without a network`;
  const waiting = `with room for ${STATUS_CHANNEL_CAPACITY} statuses in podStatusChannel`;
  return [
    { ...part("NewManager", "status manager", waiting), file: "pkg/kubelet/status/status_manager.go" },
    { ...part("newPodWorkers", "pod workers", again), file: "pkg/kubelet/pod_workers.go" },
  ];
}

import type { KubeGenericRuntime } from "../kuberuntime/generic-runtime.js";
import type { KubeletParts } from "./parts.js";
import type { AdmitPod, GenerateApiPodStatus, PodObjects, PodProber, PodVolumes, ReasonCachePort } from "./ports.js";
import type { SyncLoopChannels } from "./sync-loop.js";

/** The parts behind the ports. */
export interface Modules {
  readonly runtime: KubeGenericRuntime;
  readonly generateApiPodStatus: GenerateApiPodStatus;
  readonly reasonCache: ReasonCachePort;
  readonly prober: PodProber;
  readonly probeUpdates: Pick<SyncLoopChannels, "livenessUpdates" | "readinessUpdates" | "startupUpdates">;
  readonly volumes: PodVolumes;
  readonly objects: PodObjects;
  readonly canAdmitPod: AdmitPod;
}

/** Makes them; what of `parts` is made later may only be called later. */
export function createModules(_parts: KubeletParts): Modules {
  throw new Error("not there yet");
}

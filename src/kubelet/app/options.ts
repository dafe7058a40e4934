import type { V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import type { CriClient } from "../../staging/cri/remote/create-cri-client.js";
import type { Ctx } from "../../trace/ctx.js";
import type { KubeletConfiguration } from "../apis/config/defaults.js";
import type { ConfigField } from "../apis/config/fields.js";
import type { CertificateStore } from "../certificate/certificate-store.js";
import type { PodCache } from "../container/cache.js";
import type { GcPolicy } from "../container/generic-runtime.js";
import type { rankPods } from "../eviction/ranking.js";
import type { NodeResources } from "../nodestatus/resources.js";
import type { generateEvents } from "../pleg/events.js";
import type { MirrorPodParts } from "../pod/mirror-client.js";
import type { ProbeDialer } from "../prober/probe-dialer.js";
import type { GetDirFsInfo } from "../stats/fs-info.js";
import type { MachineUsage } from "../stats/machine-usage.js";
import type { getPhase } from "../status/phase.js";
import type { HostPaths } from "../volumes/host-path.js";
import type { NodeAgent } from "./node-agent.js";

/** What pods can see of the machine. */
export interface NodeMachine {
  /** what a pod's hostPath means */
  readonly hostPaths: HostPaths;
  /** upstream `/etc/hosts`: for pods in the node's network */
  readonly hostsFile: string;
  /** how large the file systems are that hold images and pods */
  readonly getDirFsInfo: GetDirFsInfo;
  /** whether pods can have cgroups of their own */
  readonly ownsCgroups: boolean;
  /** what is used of it; undefined: only pods use it */
  readonly usage?: MachineUsage;
}

/** The part of the pod cache that pod workers read. */
export type WorkerPodCache = Pick<PodCache, "get" | "getNewerThan">;

export interface KubeletOptions {
  readonly nodeName: string;
  /** `1.25` */
  readonly kubeVersion: string;
  readonly resources: NodeResources;
  /** pods' files go to `<root>/pods`, their logs to `<root>/log/pods` */
  readonly rootDir: string;
  readonly machine: NodeMachine;
  readonly config: KubeletConfiguration;
  /** which dead containers are kept, by flags of upstream's command line; default: one of each container */
  readonly gcPolicy?: GcPolicy;
  /** of the kubelet's server, in place of the configuration's; 0: a free one, for its other servers as well */
  readonly port?: number;
  /** ports of the configuration that must be free; any other that is taken is replaced by a free one */
  readonly fixedPorts?: readonly ConfigField[];
  /** lifetime to request for later certificates */
  readonly expirationSeconds?: number;
}

/** Hooks for what pod workers read and report. */
export interface PodHooks {
  /** wraps the cache that pod workers read */
  readonly podCache?: (cache: WorkerPodCache) => WorkerPodCache;
  /** changes a pod's API status; deadlines are applied after it */
  readonly podStatus?: (pod: V1Pod, status: V1PodStatus) => V1PodStatus;
  /** in place of the kubelet's own */
  readonly getPhase?: typeof getPhase;
  /** in place of PLEG's own */
  readonly generateEvents?: typeof generateEvents;
  /** the id of the fact that changed a manifest, which its file does not tell; asked once per change. Default: none is known */
  readonly causeOfFile?: (path: string) => string | undefined;
  /** in place of the eviction manager's own */
  readonly rankPods?: typeof rankPods;
  /** in place of the mirror client's own */
  readonly mirrorPods?: MirrorPodParts;
}

/** What a kubelet is made from, besides its options. Mirrors Dependencies in pkg/kubelet/kubelet.go. */
export interface KubeletDeps extends Ctx {
  /** with the node's own certificate; the caller has not started it */
  readonly agent: NodeAgent;
  readonly cri: CriClient;
  /** for PLEG's calls every second, so that a trace can leave them out; default: the same client */
  readonly polling?: CriClient;
  /** for the rotation of the node's certificate; undefined: no rotation */
  readonly store?: CertificateStore;
  /** how probes and hooks reach pods; default: through port-forwards of the runtime */
  readonly dialer?: ProbeDialer;
  readonly hooks?: PodHooks;
}

import type { GetDirFsInfo } from "./cadvisor/fs-info.js";
import type { PodCache } from "./container/cache.js";
import type { ImageGcPolicy } from "./images/image-gc-policy.js";
import type { LogRotatePolicy } from "./logs/container-log-manager.js";
import type { NodeResources } from "./nodestatus/resources.js";
import type { MachineUsage } from "./stats/machine-usage.js";
import type { HostPaths } from "./volumes/host-path.js";

/** What pods can see of the machine. */
export interface NodeMachine {
  /** what a pod's hostPath means */
  readonly hostPaths: HostPaths;
  /** upstream `/etc/hosts`: for pods in the node's network */
  readonly hostsFile: string;
  /** upstream `/etc/resolv.conf`; empty: no file */
  readonly resolvConf: string;
  /** how large the file systems are that hold images and pods */
  readonly getDirFsInfo: GetDirFsInfo;
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
  /** a folder of manifests, or one manifest */
  readonly manifestDir?: string;
  readonly manifestUrl?: string;
  /** name servers for pods; empty: the node's; default as kubeadm: 10.96.0.10 */
  readonly clusterDns?: readonly string[];
  /** empty: none; default `cluster.local` */
  readonly clusterDomain?: string;
  /** port of the kubelet's server; 0: a free one; default 10250, or a free one if that is taken */
  readonly port?: number;
  /** the cluster signs the server's certificate, as with `serverTLSBootstrap`; default: self-signed */
  readonly rotateServerCertificates?: boolean;
  /** lifetime to request for later certificates */
  readonly expirationSeconds?: number;
  /** default: 10 MiB, 5 files */
  readonly logRotatePolicy?: LogRotatePolicy;
  /** default: from 85 % down to 80 %, images older than 2 min */
  readonly imageGcPolicy?: ImageGcPolicy;
}

import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { RemoteCommandOptions } from "../../staging/streaming/remote-command/session.js";
import type { LogPiece, PodLogOptions } from "../kuberuntime/logs/options.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import type { SummaryProvider } from "../stats/summary-provider.js";

/**
 * The parts of the kubelet that its server needs. A thrown error becomes a response with its message; for a
 * `RuntimeCallError` (kuberuntime/kube-runtime.ts) the gRPC code decides the status.
 *
 * Mirrors pkg/kubelet/server/server.go (HostInterface).
 */
export interface KubeletServerHost {
  /** Also finds static pods, under the name of their mirror pod. */
  getPodByName(namespace: string, name: string): V1Pod | undefined;
  /** All pods that this node should run, with the kubelet's status of them. */
  getPods(): readonly V1Pod[];
  /** The pods that run according to the runtime. */
  getRunningPods(signal: AbortSignal): Promise<readonly V1Pod[]>;
  /**
   * A container's log, piece by piece; ends with the log, or with `signal`.
   * @throws LogError (before or after the first piece) when the log is missing or ends early
   */
  getKubeletContainerLogs(
    podFullName: string,
    containerName: string,
    options: PodLogOptions,
    signal: AbortSignal,
  ): AsyncIterable<LogPiece>;
  /** @returns the URL at which the runtime serves the streams */
  getExec(request: ExecHostRequest, signal: AbortSignal): Promise<string>;
  /** As `getExec`. */
  getAttach(request: AttachHostRequest, signal: AbortSignal): Promise<string>;
  /** As `getExec`. */
  getPortForward(request: PortForwardHostRequest, signal: AbortSignal): Promise<string>;
  /**
   * Runs a command to its end (ExecSync).
   * @returns its stdout followed by its stderr
   * @throws when its exit code is not 0
   */
  runInContainer(request: RunHostRequest, signal: AbortSignal): Promise<Uint8Array>;
  /** @returns why the sync loop is stuck; undefined if it runs. Mirrors SyncLoopHealthCheck. */
  syncLoopProblem(): string | undefined;
  /** the folder of /logs/; undefined: there are none */
  readonly logsFolder?: string | undefined;
  /** the kubelet's configuration, in the fields of kubelet.config.k8s.io/v1beta1 (KubeletConfiguration) */
  configz?(): Readonly<Record<string, unknown>>;
  /** the content of /metrics */
  readonly metrics: KubeletMetrics;
  /** the content of /metrics/cadvisor, in Prometheus' text format */
  cadvisorMetrics?(signal: AbortSignal): Promise<string>;
  /** the content of /metrics/probes, in Prometheus' text format */
  probeMetrics?(): Promise<string>;
  /** the resource usage of the node and its pods; undefined: the server has no statistics */
  readonly summaryProvider?: Pick<SummaryProvider, "get" | "getCpuAndMemoryStats"> | undefined;
}

/** Identifies a container. */
export interface ContainerHostRequest {
  /** `name_namespace` */
  readonly podFullName: string;
  /** undefined: any pod of that name */
  readonly podUid: string | undefined;
  readonly containerName: string;
}

export interface AttachHostRequest extends ContainerHostRequest {
  readonly streams: RemoteCommandOptions;
}

export interface ExecHostRequest extends AttachHostRequest {
  readonly command: readonly string[];
}

export interface RunHostRequest extends ContainerHostRequest {
  readonly command: readonly string[];
}

export interface PortForwardHostRequest {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  /** sent beforehand over a WebSocket; SPDY names them per stream */
  readonly ports: readonly number[];
}

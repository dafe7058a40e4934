import type { V1Pod } from "../../apimachinery/api/pod.js";
import type { RemoteCommandOptions } from "../../streaming/remote-command/session.js";
import type { LogPiece, PodLogOptions } from "../kuberuntime/logs/options.js";

/**
 * What the kubelet's server needs of the kubelet. Anything thrown becomes an answer with the error's message; of a
 * `RuntimeCallError` (kuberuntime/kube-runtime.ts) the gRPC code decides the status.
 *
 * Mirrors pkg/kubelet/server/server.go (HostInterface).
 */
export interface KubeletServerHost {
  /** Static pods too, under the name of their mirror pod. */
  getPodByName(namespace: string, name: string): V1Pod | undefined;
  /** All pods that this node is to run, with the status that the kubelet has for them. */
  getPods(): readonly V1Pod[];
  /** What the runtime has running, in the shape of pods. */
  getRunningPods(signal: AbortSignal): Promise<readonly V1Pod[]>;
  /**
   * A container's log, from the first piece on; ends with the log, or with `signal`.
   * @throws LogError (before the first piece or after any) when there is none, or no more of it
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
   * @returns its stdout and stderr, one after the other
   * @throws when it exits with another code than 0
   */
  runInContainer(request: RunHostRequest, signal: AbortSignal): Promise<Uint8Array>;
  /** @returns why the sync loop does not turn; undefined: it does. Mirrors SyncLoopHealthCheck. */
  syncLoopProblem(): string | undefined;
  /** the kubelet's configuration, in the fields of kubelet.config.k8s.io/v1beta1 (KubeletConfiguration) */
  configz?(): Readonly<Record<string, unknown>>;
  /** stats.Summary: what the node and its pods use */
  statsSummary?(signal: AbortSignal): Promise<unknown>;
  /** more lines of /metrics, in Prometheus' text format, each ending with a line feed */
  metricsText?(): string;
}

/** Which container. */
export interface ContainerHostRequest {
  /** `name_namespace` */
  readonly podFullName: string;
  /** undefined: whichever pod has the name */
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
  /** named beforehand over a WebSocket; SPDY names them per stream */
  readonly ports: readonly number[];
}

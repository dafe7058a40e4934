import type { V1Container, V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { RemoteRuntimeService } from "../../staging/cri/remote/remote-runtime.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { KubeGenericRuntime } from "../container/generic-runtime.js";
import { buildPodFullName, type Container, type Pod } from "../container/runtime.js";
import { RuntimeCallError } from "../kuberuntime/kube-runtime.js";
import { getKubeletContainerLogs } from "../kuberuntime/logs/container-logs.js";
import { LogError, type LogPiece, type PodLogOptions } from "../kuberuntime/logs/options.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import type { PodManager } from "../pod/pod-manager.js";
import type { StatusManager } from "../status/manager.js";
import { isStaticPod } from "../types/pod-update.js";
import type {
  AttachHostRequest,
  ContainerHostRequest,
  ExecHostRequest,
  KubeletServerHost,
  PortForwardHostRequest,
  RunHostRequest,
} from "./host.js";

export interface KubeletHostDeps {
  readonly podManager: Pick<PodManager, "getPods" | "getPodByName">;
  readonly statusManager: Pick<StatusManager, "getPodStatus">;
  readonly runtime: Pick<KubeGenericRuntime, "getPods" | "getExec" | "getAttach" | "getPortForward">;
  readonly service: Pick<RemoteRuntimeService, "containerStatus" | "execSync">;
  readonly summaryProvider?: KubeletServerHost["summaryProvider"];
  readonly metrics: KubeletMetrics;
  readonly cadvisorMetrics?: (signal: AbortSignal) => Promise<string>;
  readonly probeMetrics?: () => Promise<string>;
  readonly clock: Clock;
  readonly trace: Trace;
  /** Unix ms of the sync loop's last iteration; undefined: none yet */
  readonly latestLoopEntryMs: () => number | undefined;
}

export interface KubeletHostOptions {
  readonly nodeName: string;
  /** upstream /var/log */
  readonly logsFolder?: string;
  /** the content of /configz: fields of kubelet.config.k8s.io/v1beta1 (KubeletConfiguration) */
  readonly configuration?: () => Readonly<Record<string, unknown>>;
}

/** Mirrors SyncLoopHealthCheck: twice the resync interval, and at least this long. */
const LOOP_MAX_MS = 5 * 60_000;

/**
 * The kubelet as its server sees it.
 *
 * Mirrors pkg/kubelet/kubelet_pods.go (GetPods, GetRunningPods, GetKubeletContainerLogs, RunInContainer, GetExec,
 * GetAttach, GetPortForward, findContainer) and pkg/kubelet/kubelet.go (SyncLoopHealthCheck).
 */
export class KubeletHost implements KubeletServerHost {
  constructor(
    readonly deps: KubeletHostDeps,
    readonly options: KubeletHostOptions,
  ) {}

  /** Mirrors ServeLogs. */
  get logsFolder(): string | undefined {
    return this.options.logsFolder;
  }

  getPodByName(namespace: string, name: string): V1Pod | undefined {
    return this.deps.podManager.getPodByName(namespace, name);
  }

  /** The API server holds the status of its own pods; only the kubelet knows that of static pods. */
  getPods(): readonly V1Pod[] {
    return this.deps.podManager.getPods().map((pod) => (isStaticPod(pod) ? this.#withStatus(pod) : pod));
  }

  #withStatus(pod: V1Pod): V1Pod {
    const status = this.deps.statusManager.getPodStatus(pod.metadata.uid);
    return status === undefined ? pod : { ...pod, status };
  }

  async getRunningPods(signal: AbortSignal): Promise<readonly V1Pod[]> {
    return (await this.deps.runtime.getPods(false, signal)).map(toApiPod);
  }

  async *getKubeletContainerLogs(
    podFullName: string,
    containerName: string,
    options: PodLogOptions,
    signal: AbortSignal,
  ): AsyncGenerator<LogPiece> {
    const { service, clock, trace } = this.deps;
    const [name = "", namespace = ""] = podFullName.split("_");
    const pod = this.getPodByName(namespace, name);
    if (pod === undefined) throw new LogError(`pod ${JSON.stringify(name)} cannot be found - no logs available`);
    const deps = {
      clock,
      trace,
      containerStatus: (id: string, inner: AbortSignal) => service.containerStatus(id, false, inner),
    };
    yield* getKubeletContainerLogs(deps, this.#withStatus(pod), containerName, options, signal);
  }

  async getExec(request: ExecHostRequest, signal: AbortSignal): Promise<string> {
    const container = await this.#findContainer(request, signal);
    if (container === undefined) throw containerNotFound(request.containerName);
    return this.deps.runtime.getExec(container.containerId, request.command, request.streams, signal);
  }

  /** Whether the container has a terminal was decided when it was created, so the request cannot choose. */
  async getAttach(request: AttachHostRequest, signal: AbortSignal): Promise<string> {
    const { podFullName, podUid, containerName, streams } = request;
    const missing = `container ${containerName} not found in pod ${podFullName}`;
    const container = await this.#findContainer(request, signal);
    if (container === undefined) throw new Error(missing);
    const [name = "", namespace = ""] = podFullName.split("_");
    const pod = this.getPodByName(namespace, name);
    if (pod === undefined || (podUid !== undefined && pod.metadata.uid !== podUid)) {
      throw new Error(`pod ${podFullName} not found`);
    }
    const spec = containerSpecs(pod).find((one) => one.name === containerName);
    if (spec === undefined) throw new Error(missing);
    const tty = spec["tty"] === true;
    const options = { stdin: streams.stdin, stdout: streams.stdout, stderr: streams.stderr && !tty, tty };
    return this.deps.runtime.getAttach(container.containerId, options, signal);
  }

  async getPortForward(request: PortForwardHostRequest, signal: AbortSignal): Promise<string> {
    const { podName: name, podNamespace: namespace, podUid, ports } = request;
    const fullName = buildPodFullName({ name, namespace, podUid });
    const pod = findPod(await this.deps.runtime.getPods(false, signal), fullName);
    if (pod === undefined) throw new Error(`pod not found (${JSON.stringify(fullName)})`);
    return this.deps.runtime.getPortForward(pod.podUid, ports, signal);
  }

  async runInContainer(request: RunHostRequest, signal: AbortSignal): Promise<Uint8Array> {
    const container = await this.#findContainer(request, signal);
    if (container === undefined) throw containerNotFound(request.containerName);
    const { command } = request;
    const result = await this.deps.service.execSync(container.containerId, command, 0, signal);
    if (result.outcome !== "ok") throw new RuntimeCallError(result);
    const { stdout, stderr, exitCode } = result.value;
    if (exitCode === 0) return Buffer.concat([stdout, stderr]);
    throw new Error(`command '${command.join(" ")}' exited with ${exitCode}: ${Buffer.from(stderr).toString()}`);
  }

  syncLoopProblem(): string | undefined {
    const { clock, latestLoopEntryMs } = this.deps;
    const entryMs = latestLoopEntryMs();
    const isLate = entryMs !== undefined && clock.now() > entryMs + LOOP_MAX_MS;
    return isLate ? "sync Loop took longer than expected" : undefined;
  }

  configz(): Readonly<Record<string, unknown>> {
    return this.options.configuration?.() ?? {};
  }

  get metrics(): KubeletMetrics {
    return this.deps.metrics;
  }

  async cadvisorMetrics(signal: AbortSignal): Promise<string> {
    return (await this.deps.cadvisorMetrics?.(signal)) ?? "";
  }

  async probeMetrics(): Promise<string> {
    return (await this.deps.probeMetrics?.()) ?? "";
  }

  get summaryProvider(): KubeletServerHost["summaryProvider"] {
    return this.deps.summaryProvider;
  }

  /** Ignores the uid if a name is given, as upstream's FindPod does. */
  async #findContainer(request: ContainerHostRequest, signal: AbortSignal): Promise<Container | undefined> {
    const pod = findPod(await this.deps.runtime.getPods(false, signal), request.podFullName);
    return pod?.containers.find(({ name }) => name === request.containerName);
  }
}

function containerNotFound(name: string): Error {
  return new Error(`container not found (${JSON.stringify(name)})`);
}

/** All container names in a pod's spec. Mirrors VisitContainers, as GetContainerSpec in pkg/kubelet/container/helpers.go uses it. */
export function containerSpecs({ spec }: V1Pod): readonly V1Container[] {
  const ephemeral = spec["ephemeralContainers"] as readonly V1Container[] | null | undefined;
  return [...(spec.containers ?? []), ...(spec.initContainers ?? []), ...(ephemeral ?? [])];
}

function findPod(pods: readonly Pod[], fullName: string): Pod | undefined {
  return pods.find((pod) => buildPodFullName(pod) === fullName);
}

/** Mirrors ToAPIPod in pkg/kubelet/container/runtime.go. */
function toApiPod({ podUid, name, namespace, containers }: Pod): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, uid: podUid, creationTimestamp: null },
    spec: { containers: containers.map((one) => ({ name: one.name ?? "", resources: {} })) },
    status: {},
  };
}

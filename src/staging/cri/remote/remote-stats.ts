import type { DecodedFields, FieldTable, Init } from "../../apimachinery/protobuf/fields.js";
import type { CriChannel } from "../client.js";
import type { RpcResult } from "../grpc/status.js";
import type {
  ContainerStats,
  ContainerStatsFilter,
  MetricDescriptor,
  PodSandboxMetrics,
  PodSandboxStats,
  PodSandboxStatsFilter,
} from "../messages/stats.js";
import type { ListContainerStatsRpc, ListPodSandboxStatsRpc } from "../projections.js";
import { RUNTIME_SERVICE } from "../services.js";
import { RUNTIME_REQUEST_TIMEOUT_MS } from "./remote-runtime.js";
import { mapped } from "./results.js";

/**
 * The statistics calls of the RuntimeService.
 *
 * Mirrors pkg/kubelet/cri/remote/remote_runtime.go (ContainerStats and the calls after it).
 */
export class RemoteStats {
  constructor(
    readonly channel: CriChannel,
    readonly timeoutMs = RUNTIME_REQUEST_TIMEOUT_MS,
  ) {}

  async containerStats(containerId: string, signal: AbortSignal): Promise<RpcResult<ContainerStats | undefined>> {
    const result = await this.channel.call(RUNTIME_SERVICE.containerStats, { containerId }, this.#deadline(signal));
    return mapped(result, ({ stats }) => stats);
  }

  /** Without a deadline: measuring writable layers takes time. */
  async listContainerStats(
    filter: Init<typeof ContainerStatsFilter> | undefined,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly ContainerStats[]>> {
    const result = await this.channel.call(RUNTIME_SERVICE.listContainerStats, { filter }, { signal });
    return mapped(result, ({ stats }) => stats);
  }

  /** The list through a projection. @param rpc of `listContainerStatsOf(...)` */
  async listContainerStatsAs<F extends FieldTable>(
    rpc: ListContainerStatsRpc<F>,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly DecodedFields<F>[]>> {
    return mapped(await this.channel.call(rpc, {}, { signal }), ({ stats }) => stats);
  }

  async podSandboxStats(podSandboxId: string, signal: AbortSignal): Promise<RpcResult<PodSandboxStats | undefined>> {
    const result = await this.channel.call(RUNTIME_SERVICE.podSandboxStats, { podSandboxId }, this.#deadline(signal));
    return mapped(result, ({ stats }) => stats);
  }

  async listPodSandboxStats(
    filter: Init<typeof PodSandboxStatsFilter> | undefined,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly PodSandboxStats[]>> {
    const result = await this.channel.call(RUNTIME_SERVICE.listPodSandboxStats, { filter }, this.#deadline(signal));
    return mapped(result, ({ stats }) => stats);
  }

  /** The list through a projection. @param rpc of `listPodSandboxStatsOf(...)` */
  async listPodSandboxStatsAs<F extends FieldTable>(
    rpc: ListPodSandboxStatsRpc<F>,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly DecodedFields<F>[]>> {
    return mapped(await this.channel.call(rpc, {}, this.#deadline(signal)), ({ stats }) => stats);
  }

  async listMetricDescriptors(signal: AbortSignal): Promise<RpcResult<readonly MetricDescriptor[]>> {
    const result = await this.channel.call(RUNTIME_SERVICE.listMetricDescriptors, {}, this.#deadline(signal));
    return mapped(result, ({ descriptors }) => descriptors);
  }

  async listPodSandboxMetrics(signal: AbortSignal): Promise<RpcResult<readonly PodSandboxMetrics[]>> {
    const result = await this.channel.call(RUNTIME_SERVICE.listPodSandboxMetrics, {}, this.#deadline(signal));
    return mapped(result, ({ podMetrics }) => podMetrics);
  }

  #deadline(signal: AbortSignal) {
    return { timeoutMs: this.timeoutMs, signal };
  }
}

import type { DecodedFields, FieldTable, Init, InitFields } from "../../apimachinery/protobuf/fields.js";
import type { CriChannel } from "../client.js";
import type { UnaryRpc } from "../grpc/rpc.js";
import { badResponse, type RpcResult } from "../grpc/status.js";
import type { Container, ContainerConfig, ContainerFilter } from "../messages/container.js";
import type {
  AttachRequest,
  CheckpointContainerRequest,
  ContainerEventResponse,
  ContainerStatusResponse,
  ExecRequest,
  ExecSyncResponse,
  PortForwardRequest,
} from "../messages/container-calls.js";
import type { ContainerResources } from "../messages/resources.js";
import type { RuntimeConfig, RuntimeConfigResponse, StatusResponse, VersionResponse } from "../messages/runtime.js";
import type { PodSandbox, PodSandboxConfig, PodSandboxFilter, PodSandboxStatusResponse } from "../messages/sandbox.js";
import type { ContainerStatusRpc, ListContainersRpc, ListPodSandboxRpc, PodSandboxStatusRpc } from "../projections.js";
import { RUNTIME_SERVICE } from "../services.js";
import { checked, done, mapped } from "./results.js";
import { verifyContainerStatus, verifySandboxStatus } from "./verify.js";

/** --runtime-request-timeout: pkg/kubelet/apis/config/v1beta1/defaults.go (RuntimeRequestTimeout) */
export const RUNTIME_REQUEST_TIMEOUT_MS = 120_000;

/**
 * The kubelet's client of the RuntimeService: a method for each call, with the kubelet's deadline and its checks of the
 * response. Failures are return values; only an abort is thrown (the signal's reason).
 *
 * Mirrors pkg/kubelet/cri/remote/remote_runtime.go (remoteRuntimeService), in k8s.io/cri-client since 1.31. Statistics are
 * in `RemoteStats`.
 */
export class RemoteRuntimeService {
  /** @param timeoutMs ms of the channel's clock, for calls without a deadline of their own */
  constructor(
    readonly channel: CriChannel,
    readonly timeoutMs = RUNTIME_REQUEST_TIMEOUT_MS,
  ) {}

  #call<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
    signal: AbortSignal,
    timeoutMs = this.timeoutMs,
  ): Promise<RpcResult<DecodedFields<Res>>> {
    return this.channel.call(rpc, request, { timeoutMs, signal });
  }

  async version(apiVersion: string, signal: AbortSignal): Promise<RpcResult<VersionResponse>> {
    const result = await this.#call(RUNTIME_SERVICE.version, { version: apiVersion }, signal);
    return checked(result, ({ version, runtimeName, runtimeVersion, runtimeApiVersion }) =>
      [version, runtimeName, runtimeVersion, runtimeApiVersion].includes("")
        ? "not all fields are set in VersionResponse"
        : undefined,
    );
  }

  async status(verbose: boolean, signal: AbortSignal): Promise<RpcResult<StatusResponse>> {
    const result = await this.#call(RUNTIME_SERVICE.status, { verbose }, signal);
    return checked(result, ({ status }) =>
      (status?.conditions.length ?? 0) < 2 ? "RuntimeReady or NetworkReady condition are not set" : undefined,
    );
  }

  /**
   * Has twice the usual timeout, because setting up the network takes time.
   * @returns the sandbox's ID
   */
  async runPodSandbox(
    config: Init<typeof PodSandboxConfig>,
    runtimeHandler: string,
    signal: AbortSignal,
  ): Promise<RpcResult<string>> {
    const request = { config, runtimeHandler };
    const result = await this.#call(RUNTIME_SERVICE.runPodSandbox, request, signal, this.timeoutMs * 2);
    return checked(
      mapped(result, ({ podSandboxId }) => podSandboxId),
      (id) => (id === "" ? `PodSandboxId is not set for sandbox ${JSON.stringify(config.metadata)}` : undefined),
    );
  }

  async stopPodSandbox(podSandboxId: string, signal: AbortSignal): Promise<RpcResult<void>> {
    return done(await this.#call(RUNTIME_SERVICE.stopPodSandbox, { podSandboxId }, signal));
  }

  async removePodSandbox(podSandboxId: string, signal: AbortSignal): Promise<RpcResult<void>> {
    return done(await this.#call(RUNTIME_SERVICE.removePodSandbox, { podSandboxId }, signal));
  }

  async podSandboxStatus(
    podSandboxId: string,
    verbose: boolean,
    signal: AbortSignal,
  ): Promise<RpcResult<PodSandboxStatusResponse>> {
    return verifiedSandbox(await this.#call(RUNTIME_SERVICE.podSandboxStatus, { podSandboxId, verbose }, signal));
  }

  /** The status through a projection, which must include the verified fields. @param rpc of `podSandboxStatusOf(...)` */
  podSandboxStatusAs<F extends FieldTable>(
    rpc: PodSandboxStatusRpc<F>,
    podSandboxId: string,
    signal: AbortSignal,
  ): Promise<RpcResult<{ readonly status: DecodedFields<F> | undefined }>> {
    return this.#call(rpc, { podSandboxId }, signal).then(verifiedSandbox);
  }

  async listPodSandbox(
    filter: Init<typeof PodSandboxFilter> | undefined,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly PodSandbox[]>> {
    return this.listPodSandboxAs(RUNTIME_SERVICE.listPodSandbox, filter, signal);
  }

  /** The list through a projection. @param rpc of `listPodSandboxOf(...)` */
  async listPodSandboxAs<F extends FieldTable>(
    rpc: ListPodSandboxRpc<F>,
    filter: Init<typeof PodSandboxFilter> | undefined,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly DecodedFields<F>[]>> {
    return mapped(await this.#call(rpc, { filter }, signal), ({ items }) => items);
  }

  /** @returns the container's ID */
  async createContainer(
    podSandboxId: string,
    config: Init<typeof ContainerConfig>,
    sandboxConfig: Init<typeof PodSandboxConfig>,
    signal: AbortSignal,
  ): Promise<RpcResult<string>> {
    const result = await this.#call(RUNTIME_SERVICE.createContainer, { podSandboxId, config, sandboxConfig }, signal);
    return checked(
      mapped(result, ({ containerId }) => containerId),
      (id) => (id === "" ? `ContainerId is not set for container ${JSON.stringify(config.metadata)}` : undefined),
    );
  }

  async startContainer(containerId: string, signal: AbortSignal): Promise<RpcResult<void>> {
    return done(await this.#call(RUNTIME_SERVICE.startContainer, { containerId }, signal));
  }

  /** Adds the grace period to the timeout, so that the runtime can still kill the container after it. */
  async stopContainer(containerId: string, gracePeriodSeconds: number, signal: AbortSignal): Promise<RpcResult<void>> {
    const request = { containerId, timeout: gracePeriodSeconds };
    const timeoutMs = this.timeoutMs + gracePeriodSeconds * 1000;
    return done(await this.#call(RUNTIME_SERVICE.stopContainer, request, signal, timeoutMs));
  }

  async removeContainer(containerId: string, signal: AbortSignal): Promise<RpcResult<void>> {
    return done(await this.#call(RUNTIME_SERVICE.removeContainer, { containerId }, signal));
  }

  async listContainers(
    filter: Init<typeof ContainerFilter> | undefined,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly Container[]>> {
    return this.listContainersAs(RUNTIME_SERVICE.listContainers, filter, signal);
  }

  /** The list through a projection. @param rpc of `listContainersOf(...)` */
  async listContainersAs<F extends FieldTable>(
    rpc: ListContainersRpc<F>,
    filter: Init<typeof ContainerFilter> | undefined,
    signal: AbortSignal,
  ): Promise<RpcResult<readonly DecodedFields<F>[]>> {
    return mapped(await this.#call(rpc, { filter }, signal), ({ containers }) => containers);
  }

  async containerStatus(
    containerId: string,
    verbose: boolean,
    signal: AbortSignal,
  ): Promise<RpcResult<ContainerStatusResponse>> {
    return verifiedContainer(await this.#call(RUNTIME_SERVICE.containerStatus, { containerId, verbose }, signal));
  }

  /** The status through a projection, which must include the verified fields. @param rpc of `containerStatusOf(...)` */
  containerStatusAs<F extends FieldTable>(
    rpc: ContainerStatusRpc<F>,
    containerId: string,
    signal: AbortSignal,
  ): Promise<RpcResult<{ readonly status: DecodedFields<F> | undefined }>> {
    return this.#call(rpc, { containerId }, signal).then(verifiedContainer);
  }

  async updateContainerResources(
    containerId: string,
    resources: Init<typeof ContainerResources>,
    signal: AbortSignal,
  ): Promise<RpcResult<void>> {
    const request = { containerId, linux: resources.linux, windows: resources.windows };
    return done(await this.#call(RUNTIME_SERVICE.updateContainerResources, request, signal));
  }

  async reopenContainerLog(containerId: string, signal: AbortSignal): Promise<RpcResult<void>> {
    return done(await this.#call(RUNTIME_SERVICE.reopenContainerLog, { containerId }, signal));
  }

  /**
   * Runs a command to its end. Without a timeout there is no deadline; with one, the runtime gets the usual timeout on
   * top to clean up, and a missed deadline is `timed-out`.
   *
   * Differs: a non-zero exit code is not an error; see `exitCode`.
   * @param timeoutMs 0: none; sent in whole seconds
   */
  async execSync(
    containerId: string,
    cmd: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<RpcResult<ExecSyncResponse>> {
    const request = { containerId, cmd, timeout: Math.trunc(timeoutMs / 1000) };
    if (timeoutMs === 0) return this.channel.call(RUNTIME_SERVICE.execSync, request, { signal });
    const result = await this.#call(RUNTIME_SERVICE.execSync, request, signal, this.timeoutMs + timeoutMs);
    if (result.outcome !== "timed-out") return result;
    const text = `command ${JSON.stringify(cmd.join(" "))} timed out`;
    return { ...result, message: text, text };
  }

  /** @returns the URL of the streams: valid for a short time, and a secret */
  async exec(request: Init<typeof ExecRequest>, signal: AbortSignal): Promise<RpcResult<string>> {
    return urlOf(await this.#call(RUNTIME_SERVICE.exec, request, signal));
  }

  /** As `exec`. */
  async attach(request: Init<typeof AttachRequest>, signal: AbortSignal): Promise<RpcResult<string>> {
    return urlOf(await this.#call(RUNTIME_SERVICE.attach, request, signal));
  }

  /** As `exec`. */
  async portForward(request: Init<typeof PortForwardRequest>, signal: AbortSignal): Promise<RpcResult<string>> {
    return urlOf(await this.#call(RUNTIME_SERVICE.portForward, request, signal));
  }

  async updateRuntimeConfig(runtimeConfig: Init<typeof RuntimeConfig>, signal: AbortSignal): Promise<RpcResult<void>> {
    return done(await this.#call(RUNTIME_SERVICE.updateRuntimeConfig, { runtimeConfig }, signal));
  }

  runtimeConfig(signal: AbortSignal): Promise<RpcResult<RuntimeConfigResponse>> {
    return this.#call(RUNTIME_SERVICE.runtimeConfig, {}, signal);
  }

  /** Raises a timeout (seconds) below the usual one to the usual one. */
  async checkpointContainer(
    request: Init<typeof CheckpointContainerRequest>,
    signal: AbortSignal,
  ): Promise<RpcResult<void>> {
    const asked = Number(request.timeout ?? 0);
    if (asked < 0) return badResponse("CheckpointContainer requires the timeout value to be > 0");
    const timeout = Math.max(asked, Math.trunc(this.timeoutMs / 1000));
    return done(await this.#call(RUNTIME_SERVICE.checkpointContainer, { ...request, timeout }, signal, timeout * 1000));
  }

  /**
   * Container events. Ends normally when the runtime ends the stream or `signal` aborts.
   * @throws RpcError when the runtime refuses (Unimplemented: it has no events) or the connection breaks
   */
  getContainerEvents(signal: AbortSignal): AsyncGenerator<ContainerEventResponse> {
    return this.channel.stream(RUNTIME_SERVICE.getContainerEvents, {}, { signal });
  }
}

/** A status, if present, must be complete. */
function verified<R extends { readonly status: unknown }, S>(
  result: RpcResult<R>,
  complaint: (status: S) => string | undefined,
): RpcResult<R> {
  if (result.outcome !== "ok" || result.value.status === undefined) return result;
  const text = complaint(result.value.status as S);
  return text === undefined ? result : badResponse(text);
}

function verifiedSandbox<R extends { readonly status: unknown }>(result: RpcResult<R>): RpcResult<R> {
  return verified(result, verifySandboxStatus);
}

function verifiedContainer<R extends { readonly status: unknown }>(result: RpcResult<R>): RpcResult<R> {
  return verified(result, verifyContainerStatus);
}

function urlOf(result: RpcResult<{ readonly url: string }>): RpcResult<string> {
  return checked(
    mapped(result, ({ url }) => url),
    (url) => (url === "" ? "URL is not set" : undefined),
  );
}

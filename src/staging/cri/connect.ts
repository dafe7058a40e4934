import { LabError } from "../../util/errors.js";
import { constantsFor, factFor } from "../../util/release/facts.js";
import type { CriDeps } from "./call-report.js";
import type { CriChannel } from "./client.js";
import { diagnoseEndpoint } from "./grpc/diagnose.js";
import type { RpcFailure } from "./grpc/status.js";
import type { VersionResponse } from "./messages/runtime.js";
import { RUNTIME_SERVICE } from "./services.js";
import { V1alpha2Channel } from "./v1alpha2.js";

/** The version that the kubelet requests. pkg/kubelet/kuberuntime/kuberuntime_manager.go (kubeRuntimeAPIVersion). */
const KUBE_RUNTIME_API_VERSION = "0.1.0";

export interface ValidateOptions {
  /** ms of the clock; the kubelet waits for two minutes (--runtime-request-timeout) */
  readonly timeoutMs: number;
  /** the kubelet's release: v1.25 also speaks v1alpha2 */
  readonly kubeVersion: string;
}

/** A runtime that has returned its version, on a channel that speaks its version of the CRI. */
export interface ValidatedConnection {
  readonly channel: CriChannel;
  readonly version: VersionResponse;
}

/**
 * Gets the runtime's version: the first call on every connection, which shows whether the runtime is usable.
 *
 * Mirrors pkg/kubelet/cri/remote/remote_runtime.go (validateServiceConnection; at v1.25 determineAPIVersion, which falls
 * back to v1alpha2). Accepts only this API version, like the kubelet's NewKubeGenericRuntimeManager.
 * Differs: makes one call instead of two; checks that there is a v1alpha2 before it falls back.
 * @throws LabError RUNTIME_UNREACHABLE, RUNTIME_FAILED
 */
export async function validateServiceConnection(
  channel: CriChannel,
  deps: CriDeps,
  options: ValidateOptions,
  signal: AbortSignal,
): Promise<ValidatedConnection> {
  const result = await versionOf(channel, options, signal);
  if (result.outcome === "ok") return { channel, version: verified(channel, result.value) };
  if (result.outcome === "unimplemented") return withV1alpha2(channel, result, deps, options, signal);
  if (isUnreachable(result)) throw await diagnoseEndpoint(channel.endpoint, result, deps.clock, signal);
  throw new LabError(
    "RUNTIME_FAILED",
    `the runtime at ${channel.endpoint.url} did not return its version: ${result.text}`,
    "Check the runtime's log.",
  );
}

function versionOf(channel: CriChannel, { timeoutMs }: ValidateOptions, signal: AbortSignal) {
  return channel.call(RUNTIME_SERVICE.version, { version: KUBE_RUNTIME_API_VERSION }, { timeoutMs, signal });
}

/** No answer, or one that a gRPC server does not give: something is wrong with the endpoint. */
function isUnreachable({ outcome, message }: RpcFailure): boolean {
  return outcome === "unavailable" || outcome === "timed-out" || /HTTP status|RST_STREAM/.test(message);
}

function verified(channel: CriChannel, response: VersionResponse): VersionResponse {
  const { version, runtimeName, runtimeVersion, runtimeApiVersion } = response;
  if (version === "" || runtimeName === "" || runtimeVersion === "" || runtimeApiVersion === "") {
    throw new LabError(
      "RUNTIME_FAILED",
      `not all fields are set in the version of ${channel.endpoint.url}: ${JSON.stringify(response)}`,
      "This runtime does not implement the CRI correctly: update it.",
    );
  }
  if (version === KUBE_RUNTIME_API_VERSION) return response;
  throw new LabError(
    "RUNTIME_FAILED",
    `${runtimeName} ${runtimeVersion} speaks version ${version} of the runtime API, and kubelets speak ${KUBE_RUNTIME_API_VERSION}`,
    "Use a runtime made for Kubernetes.",
  );
}

/** Falls back to v1alpha2, if the kubelet's release still speaks it. @throws LabError RUNTIME_UNREACHABLE */
async function withV1alpha2(
  channel: CriChannel,
  failure: RpcFailure,
  { trace, actor }: CriDeps,
  options: ValidateOptions,
  signal: AbortSignal,
): Promise<ValidatedConnection> {
  const { url } = channel.endpoint;
  const { kubeVersion } = options;
  const old = new V1alpha2Channel(channel);
  const result = await versionOf(old, options, signal);
  if (result.outcome !== "ok") {
    throw new LabError(
      "RUNTIME_UNREACHABLE",
      `${url} speaks gRPC but offers no container runtime interface`,
      "If this is containerd, its cri plugin is switched off: look for disabled_plugins in /etc/containerd/config.toml.",
    );
  }
  const { runtimeName, runtimeVersion } = result.value;
  if (!factFor("criV1alpha2", kubeVersion)) {
    throw new LabError(
      "RUNTIME_UNREACHABLE",
      `validate service connection: CRI v1 runtime API is not implemented for endpoint ${JSON.stringify(url)}: ${failure.text}`,
      `${runtimeName} ${runtimeVersion} speaks CRI v1alpha2 only, and kubelets from v1.26 on need v1: containerd has it from 1.6 on, CRI-O from 1.20 on.`,
    );
  }
  const what = "fall back to CRI v1alpha2 (deprecated)";
  const why = `${runtimeName} ${runtimeVersion} does not implement v1`;
  const upstream = { file: "pkg/kubelet/cri/remote/remote_runtime.go", func: "determineAPIVersion" };
  const constants = constantsFor(kubeVersion, "criV1alpha2");
  trace.emit({ kind: "decision", what, why, constants, upstream }, { actor });
  return { channel: old, version: verified(channel, result.value) };
}

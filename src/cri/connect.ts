import { LabError } from "../util/errors.js";
import type { CriChannel, CriDeps } from "./client.js";
import { diagnoseEndpoint } from "./diagnose.js";
import type { VersionResponse } from "./messages/runtime.js";
import { v1alpha2Of } from "./rpc.js";
import { RUNTIME_SERVICE } from "./services.js";
import type { RpcFailure } from "./status.js";

/** The version that the kubelet requests. pkg/kubelet/kuberuntime/kuberuntime_manager.go (kubeRuntimeAPIVersion). */
const KUBE_RUNTIME_API_VERSION = "0.1.0";

/**
 * Gets the runtime's version: the first call on every connection, which shows whether the runtime is usable.
 *
 * Mirrors pkg/kubelet/cri/remote/remote_runtime.go (validateServiceConnection, versionV1) as of v1.26. Accepts only this
 * API version, like the kubelet's NewKubeGenericRuntimeManager.
 * Differs: makes one call instead of two; refuses a runtime that has only v1alpha2, where v1.25 falls back to it.
 * @param timeoutMs ms of the clock; the kubelet waits for two minutes (--runtime-request-timeout)
 * @throws LabError RUNTIME_UNREACHABLE, RUNTIME_FAILED
 */
export async function checkVersion(
  channel: CriChannel,
  deps: CriDeps,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<VersionResponse> {
  const request = { version: KUBE_RUNTIME_API_VERSION };
  const result = await channel.call(RUNTIME_SERVICE.version, request, { timeoutMs, signal });
  if (result.outcome === "ok") return verified(channel, result.value);
  if (result.outcome === "unimplemented") throw await tooOld(channel, timeoutMs, signal);
  if (isUnreachable(result)) throw await diagnoseEndpoint(channel.endpoint, result, deps.clock, signal);
  throw new LabError(
    "RUNTIME_FAILED",
    `the runtime at ${channel.endpoint.url} did not return its version: ${result.text}`,
    "Check the runtime's log.",
  );
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

async function tooOld(channel: CriChannel, timeoutMs: number, signal: AbortSignal): Promise<LabError> {
  const { url } = channel.endpoint;
  const old = await channel.call(v1alpha2Of(RUNTIME_SERVICE.version), {}, { timeoutMs, signal });
  if (old.outcome === "ok") {
    return new LabError(
      "RUNTIME_UNREACHABLE",
      `${old.value.runtimeName} ${old.value.runtimeVersion} at ${url} is too old: it speaks CRI v1alpha2 only, and v1 is needed`,
      "Update the runtime: containerd speaks CRI v1 from 1.6 on, CRI-O from 1.20 on.",
    );
  }
  return new LabError(
    "RUNTIME_UNREACHABLE",
    `${url} speaks gRPC but offers no container runtime interface`,
    "If this is containerd, its cri plugin is switched off: look for disabled_plugins in /etc/containerd/config.toml.",
  );
}

import { OLDEST_RELEASE } from "../../../util/release/facts.js";
import type { CallCauses } from "../call-causes.js";
import type { CriDeps } from "../call-report.js";
import { openCriChannel } from "../client.js";
import { validateServiceConnection } from "../connect.js";
import type { VersionResponse } from "../messages/runtime.js";
import { RemoteImageService } from "./remote-image.js";
import { RemoteRuntimeService, RUNTIME_REQUEST_TIMEOUT_MS } from "./remote-runtime.js";
import { RemoteStats } from "./remote-stats.js";

export interface CriClientOptions {
  /** ms of the clock; default two minutes, as --runtime-request-timeout */
  readonly runtimeRequestTimeoutMs?: number;
  /** for the first call; default: the same as for the others */
  readonly connectTimeoutMs?: number;
  /** the kubelet's release; default: the oldest, which also speaks CRI v1alpha2 */
  readonly kubeVersion?: string;
}

/** A container runtime that has answered the Version call. */
export interface CriClient extends AsyncDisposable {
  /** as a URL */
  readonly endpoint: string;
  readonly version: VersionResponse;
  readonly runtime: RemoteRuntimeService;
  readonly images: RemoteImageService;
  readonly stats: RemoteStats;
  /** the last call of this client that changed each container */
  readonly causes: CallCauses;
  /** Pending calls end as Canceled. */
  close(): Promise<void>;
}

/**
 * Connects to a runtime and reads its version.
 *
 * Mirrors NewRemoteRuntimeService in pkg/kubelet/cri/remote/remote_runtime.go, with one endpoint for both services.
 * @param endpoint `unix:///path`, `tcp://host:port` or, with a warning, a plain path
 * @throws LabError USAGE, RUNTIME_UNREACHABLE, RUNTIME_FAILED; the signal's reason
 */
export async function createCriClient(
  endpoint: string,
  deps: CriDeps,
  options: CriClientOptions,
  signal: AbortSignal,
): Promise<CriClient> {
  const timeoutMs = options.runtimeRequestTimeoutMs ?? RUNTIME_REQUEST_TIMEOUT_MS;
  const { kubeVersion = OLDEST_RELEASE, connectTimeoutMs = timeoutMs } = options;
  const opened = openCriChannel(endpoint, deps);
  try {
    const first = { timeoutMs: connectTimeoutMs, kubeVersion };
    const { channel, version } = await validateServiceConnection(opened, deps, first, signal);
    return {
      endpoint: channel.endpoint.url,
      version,
      runtime: new RemoteRuntimeService(channel, timeoutMs),
      images: new RemoteImageService(channel, timeoutMs),
      stats: new RemoteStats(channel, timeoutMs),
      causes: channel.causes,
      close: () => channel.close(),
      [Symbol.asyncDispose]: () => channel.close(),
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

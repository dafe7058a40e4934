import { startRuntime } from "../../src/cluster/runtime/start.js";
import type { RemoteCommandProtocol } from "../../src/staging/client-go/remotecommand/connect.js";
import { execUrl } from "../../src/staging/client-go/remotecommand/exec-url.js";
import { openRemoteCommand } from "../../src/staging/client-go/remotecommand/executor.js";
import type { StreamClient } from "../../src/staging/client-go/transport/fallback.js";
import { createCriClient } from "../../src/staging/cri/remote/create-cri-client.js";
import { startRuntimeServers } from "../../src/testbed/fixtures/runtime-servers.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";

export const clock = new SystemClock();
export const random = new SystemRandom();
export const trace = new Trace(clock);
export const never = new AbortController().signal;

/** A way to the container `c` of the pod `tool`. */
export interface Chain extends AsyncDisposable {
  readonly client: StreamClient;
}

/** Client, API server, kubelet's server and runtime, all in this process. */
export async function startChain(plainHttp: boolean, kubeVersion: string): Promise<Chain> {
  const runtime = await startRuntime({ clock, random, trace });
  const containers = [{ name: "c", image: "nettool" }];
  runtime.control.runPod({ name: "tool", namespace: "default", uid: "u1", containers });
  const cri = await createCriClient(runtime.endpoint, { clock, trace, actor: "kubelet" }, {}, never);
  const options = { kubeVersion, apiServerPort: 0, kubeletPort: 0, plainHttp };
  const servers = await startRuntimeServers({ clock, random, trace, cri }, options, never);
  const close = async () => {
    await servers[Symbol.asyncDispose]();
    await cri.close();
    await runtime.close();
  };
  const config = { ...servers.controlPlane.admin, server: servers.url };
  return { client: clientOf(config), [Symbol.asyncDispose]: close };
}

export function clientOf(config: StreamClient["config"]): StreamClient {
  return { config, clock, random, trace, story: undefined };
}

const TOOL = { namespace: "default", name: "tool", subresource: "exec", container: "c" } as const;

export async function open({ client }: Chain, words: readonly string[], protocol: RemoteCommandProtocol) {
  const options = { stdin: false, stdout: true, stderr: true, tty: false };
  const path = execUrl({ ...TOOL, words }, options);
  const request = { path, options, protocols: [protocol], showsFrames: false };
  return (await openRemoteCommand(client, request, never)).session;
}

/** ms from asking to the first byte of the status: `true` says nothing else. */
export async function firstByteMs(chain: Chain, protocol: RemoteCommandProtocol): Promise<number> {
  const startMs = performance.now();
  await using session = await open(chain, ["true"], protocol);
  await session.status;
  return performance.now() - startMs;
}

import { rm } from "node:fs/promises";
import type { ControlPlane } from "../cluster/control-plane/control-plane.js";
import { startControlPlane } from "../cluster/control-plane/start.js";
import { selfSignedServingPair } from "../kubelet/certificate/serving.js";
import { responseOf } from "../kubelet/kuberuntime/kube-runtime.js";
import { KubeletMetrics } from "../kubelet/metrics/kubelet-metrics.js";
import { KubeletAuth } from "../kubelet/server/kubelet-auth.js";
import { KubeletHost } from "../kubelet/server/kubelet-host.js";
import { KubeletServer } from "../kubelet/server/server.js";
import { SummaryProvider } from "../kubelet/stats/summary-provider.js";
import type { V1Pod } from "../staging/apimachinery/api/pod.js";
import { createClient } from "../staging/client-go/rest/create-client.js";
import type { CriClient } from "../staging/cri/remote/create-cri-client.js";
import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import { Disposables } from "../util/disposables.js";
import type { Random } from "../util/random.js";
import { makeTemporaryFolder } from "../util/temporary-folder.js";
import { registerNode, registerPod } from "./register.js";
import { listSandboxPods, type SandboxPod, toApiPod, toKubeletPod } from "./sandbox-pods.js";

const NODE_NAME = "node-1";

export interface RuntimeServersDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** of the servers */
  readonly trace: Trace;
  readonly cri: CriClient;
}

export interface RuntimeServersOptions {
  readonly kubeVersion: string;
  /** 0: a free one */
  readonly apiServerPort: number;
  readonly kubeletPort: number;
  /** serves both without TLS and authentication; HTTPS stays available on another port */
  readonly plainHttp: boolean;
}

/** An API server and a kubelet's server in front of a container runtime. */
export interface RuntimeServers extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  /** for clients; plain HTTP if requested */
  readonly url: string;
  readonly kubeletUrl: string;
  readonly pods: readonly SandboxPod[];
}

/** These controllers would declare the node, which has no heartbeats, dead, and move or delete its pods. */
const WITHOUT = ["nodelifecycle", "taint-eviction-controller", "podgc", "scheduler"];

/**
 * Starts a kubelet's server in front of a runtime, and an API server in front of that: the chain of a remote command.
 * The pods are the runtime's sandboxes. There is no kubelet; the runtime is only read and streamed from.
 * @throws LabError as `startControlPlane`, `KubeletServer.listen`; RuntimeCallError
 */
export async function startRuntimeServers(
  deps: RuntimeServersDeps,
  options: RuntimeServersOptions,
  signal: AbortSignal,
): Promise<RuntimeServers> {
  const { clock, random, trace, cri } = deps;
  const { kubeVersion, apiServerPort, kubeletPort, plainHttp } = options;
  const opened = new Disposables();
  const close = () => opened.close();
  try {
    const ports = plainHttp ? { plainHttpPort: apiServerPort, kubeletPlainHttp: true } : { port: apiServerPort };
    const controlPlane = await startControlPlane({
      clock,
      random,
      trace,
      kubeVersion,
      withoutControllers: WITHOUT,
      ...ports,
    });
    opened.defer(() => controlPlane.close());
    const client = createClient(controlPlane.admin, { clock, random, trace, actor: "user" });
    opened.defer(() => client.close());
    const sandboxes = await listSandboxPods(cri, signal);
    const { runtimeName } = cri.version;
    const pods = sandboxes.map((one) => toApiPod(one, NODE_NAME, runtimeName));
    const folder = await makeTemporaryFolder("kubelet");
    opened.defer(() => rm(folder, { recursive: true, force: true }));
    const pair = plainHttp
      ? undefined
      : await selfSignedServingPair(
          { clock, random, trace },
          { certDirectory: folder, host: NODE_NAME, addresses: ["127.0.0.1"] },
        );
    const auth = new KubeletAuth({ client, clock, trace }, { nodeName: NODE_NAME, clientCaPem: controlPlane.caPem });
    opened.defer(() => auth.close());
    const server = await KubeletServer.listen(
      { host: hostOf(deps, pods), clock, trace, ...(pair === undefined ? {} : { auth }) },
      { port: kubeletPort, transport: pair === undefined ? "http" : { pair } },
    );
    opened.defer(() => server.close());
    await registerNode(client, { name: NODE_NAME, kubeletPort: server.port, kubeVersion }, signal);
    for (const pod of pods) await registerPod(client, pod, signal);
    const url = controlPlane.plainUrl ?? controlPlane.url;
    return { controlPlane, url, kubeletUrl: server.url, pods: sandboxes, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The kubelet's host, in front of a runtime whose pods it did not create. */
function hostOf({ clock, trace, cri }: RuntimeServersDeps, pods: readonly V1Pod[]): KubeletHost {
  const { runtime } = cri;
  const sandboxPods = (signal: AbortSignal) => listSandboxPods(cri, signal);
  const getPodByName = (namespace: string, name: string) =>
    pods.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  return new KubeletHost(
    {
      podManager: { getPods: () => [...pods], getPodByName },
      statusManager: { getPodStatus: () => undefined },
      runtime: {
        getPods: async (_all, signal) => (await sandboxPods(signal)).map(toKubeletPod),
        getExec: async (containerId, cmd, streams, signal) =>
          responseOf(await runtime.exec({ containerId, cmd: [...cmd], ...streams }, signal)),
        getAttach: async (containerId, streams, signal) =>
          responseOf(await runtime.attach({ containerId, ...streams }, signal)),
        getPortForward: async (podUid, port, signal) => {
          const sandbox = (await sandboxPods(signal)).find(({ uid }) => uid === podUid);
          if (sandbox === undefined) throw new Error(`no ready sandbox of pod ${podUid}`);
          return responseOf(await runtime.portForward({ podSandboxId: sandbox.sandboxId, port: [...port] }, signal));
        },
      },
      service: runtime,
      metrics: new KubeletMetrics({ nodeName: NODE_NAME, startMs: clock.now() }),
      summaryProvider: SummaryProvider.over(cri, { clock }, { nodeName: NODE_NAME }),
      clock,
      trace,
      latestLoopEntryMs: () => clock.now(),
    },
    { nodeName: NODE_NAME },
  );
}

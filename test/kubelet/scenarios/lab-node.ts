import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ControlPlane } from "../../../src/cluster/control-plane/control-plane.js";
import { type RunningRuntime, startRuntime } from "../../../src/cluster/runtime/start.js";
import type { KubeletConfigurationFields } from "../../../src/kubelet/apis/config/fields.js";
import type { RunningKubelet } from "../../../src/kubelet/app/kubelet.js";
import { NodeAgent } from "../../../src/kubelet/app/node-agent.js";
import { startKubelet } from "../../../src/kubelet/app/start-kubelet.js";
import type { GcPolicy } from "../../../src/kubelet/container/generic-runtime.js";
import { diskBytes, type NodeResources } from "../../../src/kubelet/nodestatus/resources.js";
import type { RestConfig } from "../../../src/staging/client-go/rest/client.js";
import { type CriClient, createCriClient } from "../../../src/staging/cri/remote/create-cri-client.js";
import { nodeConfiguration } from "../../../src/testbed/node/kubelet-config.js";
import { simulatedUsage } from "../../../src/testbed/node/machine-usage.js";
import { simulatedDisk } from "../../../src/testbed/node/simulated-disk.js";
import { Trace } from "../../../src/trace/trace.js";
import type { Clock } from "../../../src/util/clock.js";
import { defined } from "../../../src/util/defined.js";
import { LabError } from "../../../src/util/errors.js";
import type { Random } from "../../../src/util/random.js";
import { nodeClient } from "../../support/node-client.js";

export const NODE_NAME = "node-1";
const RESOURCES = { cpu: "4", memory: "8Gi", pods: "110" };

export interface LabNodeDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** of the kubelet; default: a trace without listeners */
  readonly trace?: Trace;
}

export interface LabNodeOptions {
  readonly kubeVersion?: string;
  readonly resources?: NodeResources;
  /** in place of kubelab's own, and of the defaults */
  readonly config?: KubeletConfigurationFields;
  readonly manifestDir?: string;
  readonly gcPolicy?: GcPolicy;
  /** ms that a pull takes; default 10 */
  readonly pullMs?: number;
  /** images that need no pull */
  readonly images?: readonly string[];
  /** where the kubelet finds the API server; default: where it is */
  readonly server?: string;
  /** what stands between the kubelet and the API server: is given the kubelet's way, gives back another */
  readonly between?: (config: RestConfig) => Promise<RestConfig>;
  /** default: a temporary folder that `close` removes */
  readonly rootDir?: string;
}

/**
 * A node as `kubelab node` assembles it: the real kubelet with a node's own certificate, over HTTPS and gRPC, on the
 * embedded runtime, which outlives the kubelet.
 */
export class LabNode {
  kubelet: RunningKubelet | undefined;
  #agent: NodeAgent | undefined;
  readonly #criClients: CriClient[] = [];
  /** What the last kubelet ended with, when it ended by itself. */
  failure: unknown;

  private constructor(
    readonly deps: LabNodeDeps & { readonly trace: Trace },
    readonly options: LabNodeOptions,
    readonly config: RestConfig,
    readonly runtime: RunningRuntime,
    readonly rootDir: string,
  ) {}

  /** A machine with a runtime and a certificate, and no kubelet yet. */
  static async make(controlPlane: ControlPlane, deps: LabNodeDeps, options: LabNodeOptions = {}): Promise<LabNode> {
    const trace = deps.trace ?? new Trace(deps.clock);
    const all = { ...deps, trace };
    const client = await nodeClient(controlPlane, NODE_NAME, { ...all, trace: new Trace(deps.clock) });
    await client.close();
    const rootDir = options.rootDir ?? (await mkdtemp(join(tmpdir(), "kubelab-node-")));
    const runtime = await startRuntime({
      ...all,
      pullMs: options.pullMs ?? 10,
      traceLevel: 2,
      ...(options.images === undefined ? {} : { images: options.images }),
    });
    const config = { ...client.config, ...(options.server === undefined ? {} : { server: options.server }) };
    return new LabNode(all, options, (await options.between?.(config)) ?? config, runtime, rootDir);
  }

  /** Starts a kubelet, which finds what the one before it has left. @param signal ends it as Ctrl-C does */
  async start(signal: AbortSignal = new AbortController().signal): Promise<RunningKubelet> {
    const { deps, options, rootDir } = this;
    const { kubeVersion = "1.25", resources = RESOURCES, manifestDir } = options;
    const config = nodeConfiguration(kubeVersion, { ...options.config, ...defined({ staticPodPath: manifestDir }) });
    const agent = new NodeAgent(this.config, deps, { nodeName: NODE_NAME, kubeVersion, resources, config });
    this.#agent = agent;
    const cri = await this.#connect(deps.trace);
    const polling = await this.#connect(new Trace(deps.clock));
    this.kubelet = await startKubelet(
      { agent, cri, polling, ...deps },
      {
        nodeName: NODE_NAME,
        kubeVersion,
        resources,
        rootDir,
        port: 0,
        machine: {
          ownsCgroups: true,
          hostPaths: { kind: "below", root: join(rootDir, "host") },
          hostsFile: "/etc/hosts",
          getDirFsInfo: simulatedDisk(
            { imageService: cri.images, clock: deps.clock },
            { capacityBytes: diskBytes(resources), rootDir },
          ),
          usage: simulatedUsage(deps.clock),
        },
        config,
        ...defined({ gcPolicy: options.gcPolicy }),
      },
      signal,
    );
    this.kubelet.done.catch((error: unknown) => {
      this.failure = error;
    });
    return this.kubelet;
  }

  /** What a client waits for its connection is little on a fast clock: on a busy machine it tries again. */
  async #connect(trace: Trace): Promise<CriClient> {
    const { clock } = this.deps;
    const { signal } = new AbortController();
    for (;;) {
      try {
        const client = await createCriClient(this.runtime.endpoint, { clock, trace, actor: "kubelet" }, {}, signal);
        this.#criClients.push(client);
        return client;
      } catch (error) {
        if (!(error instanceof LabError) || error.code !== "RUNTIME_UNREACHABLE") throw error;
      }
    }
  }

  /** Ends the kubelet and nothing else: containers run on. */
  async stop(): Promise<void> {
    await this.kubelet?.close();
    this.kubelet = undefined;
    await this.#agent?.close();
    this.#agent = undefined;
    for (const client of this.#criClients.splice(0)) await client.close();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.runtime.close();
    if (this.options.rootDir === undefined) await rm(this.rootDir, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

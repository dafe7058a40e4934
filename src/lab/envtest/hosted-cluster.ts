import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { loadKubeconfig } from "../../staging/client-go/clientcmd/kubeconfig.js";
import { runCluster } from "../../testbed/cluster/cluster.js";
import type { NodeContext, ProcessContext } from "../../testbed/context.js";
import { untilReady } from "../../testbed/node/cluster-nodes.js";
import { planUnasked } from "../../testbed/node/join-plan.js";
import { nodeConfiguration } from "../../testbed/node/kubelet-config.js";
import { startNode } from "../../testbed/node/node.js";
import { proxyIdentity, startNodeProxy } from "../../testbed/node/node-proxy.js";
import { type ClusterState, clusterNodesFolder } from "../../testbed/target/cluster-state.js";
import { networkFolder } from "../../testbed/target/state-folder.js";
import { joinCluster, type Target } from "../../testbed/target/target.js";
import { Trace } from "../../trace/trace.js";
import { Disposables } from "../../util/async/disposables.js";
import { type ClockReading, SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { isAbortError, LabError } from "../../util/errors.js";
import { makeFolder } from "../../util/os/files.js";
import { makeTemporaryFolder } from "../../util/os/temporary-folder.js";
import { SystemRandom } from "../../util/random.js";
import { OLDEST_RELEASE, parseKubeVersion } from "../../util/release/facts.js";
import { loadHandler, startHandler } from "../virtual/open-handler.js";
import type { ClusterOptions } from "./api.js";
import type { NodeRequest, StartedCluster } from "./messages.js";
import type { ProgramRuns } from "./program-handler.js";

const NAME = "kubelab";

/** A program's cluster, in the process that the program started for it. It has its own state folder, so no command joins it. */
export class HostedCluster {
  readonly #nodes = new Map<string, Disposables>();
  readonly #random = new SystemRandom();

  private constructor(
    readonly started: StartedCluster,
    readonly state: ClusterState,
    readonly target: Target,
    readonly context: ProcessContext & NodeContext,
    readonly session: { readonly clock: SystemClock; readonly trace: Trace },
    readonly runs: ProgramRuns,
  ) {
    for (let number = 1; number <= state.nodes; number++) this.#nodes.set(`node-${number}`, new Disposables());
  }

  /** @param opened gets the function that ends the cluster @throws LabError as `runCluster` */
  static async start(options: ClusterOptions, runs: ProgramRuns, opened: Disposables): Promise<HostedCluster> {
    const { kubeVersion = OLDEST_RELEASE, speed = 1, nodes = 0, simulated, dataFolder, port = 0, anyImage } = options;
    const folder = await makeTemporaryFolder("testbed");
    opened.defer(() => rm(folder, { recursive: true, force: true }));
    const stop = new AbortController();
    const context = contextOf({ ...process.env, XDG_STATE_HOME: folder }, stop.signal);
    const clock = new SystemClock(speed);
    const session = { clock, trace: new Trace(clock) };
    let running: Promise<void> = Promise.resolve();
    const state = await new Promise<ClusterState>((resolve, reject) => {
      const disk = dataFolder === undefined ? undefined : ({ folder: dataFolder, fsync: "batch" } as const);
      const given = {
        ...{ name: NAME, port, kubeVersion: parseKubeVersion(kubeVersion), speed, nodes },
        ...defined({ disk, anyImage, simulated: simulated === true ? { stages: [] } : undefined }),
      };
      running = session.trace.origin("start", () => runCluster({ context, ...session }, given, resolve));
      running.catch(reject);
      opened.defer(async () => {
        stop.abort();
        await running.catch(() => {});
      });
    });
    const [{ config }, text] = await Promise.all([
      loadKubeconfig(state.kubeconfig),
      readFile(state.kubeconfig, "utf8"),
    ]);
    const { server, caPem, clientCertificatePem, clientKeyPem, token } = config;
    const started: StartedCluster = {
      ...{ url: state.url, kubeVersion: state.kubeVersion, kubeconfig: text, kubeconfigFile: state.kubeconfig },
      clock: clock.reading,
      admin: { server, ...defined({ caPem, clientCertificatePem, clientKeyPem, token }) },
    };
    const cluster = new HostedCluster(started, state, await joinCluster(state), context, session, runs);
    opened.defer(() => cluster.#closeNodes());
    return cluster;
  }

  /** @throws LabError USAGE if a node of that name runs */
  claim(name: string): void {
    if (!this.#nodes.has(name)) this.#nodes.set(name, new Disposables());
    else throw new LabError("USAGE", `a node ${name} runs in this cluster already`, "Choose another name.");
  }

  /** Joins the node, whose name has been claimed. @throws LabError as `kubelab node` */
  async startNode(request: NodeRequest): Promise<void> {
    const { name } = request;
    const opened = this.#nodes.get(name) ?? new Disposables();
    try {
      await this.#join(request, opened);
    } catch (error) {
      await this.closeNode(name);
      throw error;
    }
  }

  async #join({ name, labels, taints, handler, timeoutMs }: NodeRequest, opened: Disposables): Promise<void> {
    const { context, session, state, target, runs } = this;
    const { env, signal, cwd } = context;
    const { kubeVersion } = state;
    const deps = { ...session, random: this.#random };
    const folder = join(clusterNodesFolder(env, NAME), name);
    await makeFolder(folder, 0o700);
    const network = networkFolder(env, state.url);
    const options = defined({ handlerTimeout: timeoutMs });
    const podHandler =
      handler === "function"
        ? runs.handlerOf(name)
        : await loadHandler(
            { cwd, env, signal, clock: new SystemClock() },
            defined({ handler: handler?.module }),
            folder,
          );
    const virtual = podHandler && (await startHandler({ handler: podHandler, ...deps }, options));
    if (virtual !== undefined) opened.defer(() => virtual.close());
    const plan = { ...planUnasked(name, folder, undefined, labels), ...defined({ taints }) };
    const node = await startNode(
      { context, ...session },
      {
        ...{ plan, kubeVersion, target, port: 0, networkFolder: network, config: nodeConfiguration(kubeVersion) },
        ...defined({ anyImage: state.anyImage }),
        ...(virtual === undefined ? {} : { cri: virtual.endpoint, hooks: virtual.hooks, isSimulated: true }),
      },
    );
    opened.defer(() => node.close());
    // Its API server then shows the node NotReady.
    node.done.catch(() => {});
    await untilReady(target, new Set([name]), deps, signal);
    const identity = proxyIdentity(deps, target, signal);
    const proxy = startNodeProxy(deps, { node, kubeVersion, identity }, signal);
    opened.defer(async () => proxy[Symbol.asyncDispose]());
  }

  /** Ends the node; its name is free again. */
  async closeNode(name: string): Promise<void> {
    const opened = this.#nodes.get(name);
    await opened?.close();
    this.#nodes.delete(name);
  }

  setSpeed(factor: number): ClockReading {
    const { clock } = this.session;
    clock.setSpeed(factor);
    return clock.reading;
  }

  async #closeNodes(): Promise<void> {
    await Promise.all([...this.#nodes.keys()].map((name) => this.closeNode(name))).catch((error: unknown) => {
      if (!isAbortError(error)) throw error;
    });
  }
}

/** This process asks no questions and shows no progress. */
function contextOf(env: ProcessContext["env"], signal: AbortSignal): ProcessContext & NodeContext {
  return {
    ...{ env, signal, cwd: process.cwd(), random: new SystemRandom(), self: [process.execPath] },
    confirm: async () => true,
    progress: () => ({ update() {}, stop() {}, [Symbol.dispose]() {} }),
  };
}

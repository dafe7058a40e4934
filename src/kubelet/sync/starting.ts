import type { Ctx } from "../../trace/ctx.js";
import { isAbortError, messageOf } from "../../util/errors.js";
import { allUntilOneEnds, orAborted, waitAtMost } from "../../util/loops.js";
import type { CertificateStore } from "../certificate/certificate-store.js";
import type { CriClient } from "../cri/create-cri-client.js";
import { ContainerLogManager, DEFAULT_LOG_ROTATE_POLICY, type LogRotatePolicy } from "../logs/container-log-manager.js";
import type { NodeAgent } from "../node.js";
import type { NodeResources } from "../nodestatus/resources.js";
import { KUBELET_PORT } from "../server/server.js";
import { isStaticPod } from "../types/pod-update.js";
import { podLogsDir } from "../volumes/paths.js";
import { collectGarbage } from "./garbage-collection.js";
import { NodeImages } from "./node-images.js";
import { KubeletParts, type NodeMachine, type PartsHooks } from "./parts.js";
import { type PodSourceOptions, podSources } from "./pod-sources.js";
import { type OpenServer, openServer } from "./serve.js";

/** How often a fresh kubelet looks whether it is ready, and how long. Mirrors fastStatusUpdateOnce and nodeReadyGracePeriod. */
const FAST_STATUS_PERIOD_MS = 100;
const NODE_READY_GRACE_PERIOD_MS = 120_000;
/** How long the start waits for the node to be ready before it lets others go on. */
const START_PATIENCE_MS = 2_000;
/** How long its end waits for events that an API server does not take. */
const END_PATIENCE_MS = 2_000;

export interface KubeletDeps extends Ctx {
  /** with the node's own certificate; nothing of it has been started */
  readonly agent: NodeAgent;
  readonly cri: CriClient;
  /** for what PLEG asks every second, so that a trace can leave it out; default: the same */
  readonly polling?: CriClient;
  /** where the node's certificate is rotated; undefined: it is left alone */
  readonly store?: CertificateStore;
  readonly hooks?: PartsHooks;
}

export interface KubeletOptions extends PodSourceOptions {
  readonly nodeName: string;
  /** `1.25` */
  readonly kubeVersion: string;
  readonly resources: NodeResources;
  /** pods' files go to `<root>/pods`, their logs to `<root>/log/pods` */
  readonly rootDir: string;
  readonly machine: NodeMachine;
  /** name servers that pods are given; empty: the node's; default as kubeadm: 10.96.0.10 */
  readonly clusterDns?: readonly string[];
  /** empty: none; default `cluster.local` */
  readonly clusterDomain?: string;
  /** of the kubelet's server; 0: a free one; default 10250, or a free one where that is taken */
  readonly port?: number;
  /** the server's certificate is the cluster's, as with `serverTLSBootstrap`; default: it signs its own */
  readonly rotateServerCertificates?: boolean;
  /** of the next certificates */
  readonly expirationSeconds?: number;
  /** default: 10 MiB, 5 files */
  readonly logRotatePolicy?: LogRotatePolicy;
  /** the agent has registered the node, and whoever started it keeps it alive: only the rest is started here */
  readonly isNodeKept?: boolean;
}

/** A kubelet between its making and its end. */
export class StartingKubelet {
  readonly parts: KubeletParts;
  readonly #images: NodeImages;
  #server: OpenServer | undefined;
  #registered: () => void = () => {};
  readonly #isRegistered: Promise<void>;
  #running: Promise<void> = Promise.resolve();

  constructor(
    readonly deps: KubeletDeps,
    readonly options: KubeletOptions,
    readonly signal: AbortSignal,
  ) {
    const { agent, cri } = deps;
    const initialNode = () => agent.initialNode();
    const partsDeps = { ...deps, client: agent.client };
    this.parts = new KubeletParts(partsDeps, { ...options, nodeIp: agent.internalIp, initialNode }, signal);
    this.#images = new NodeImages({ runtime: this.parts.modules.runtime, clock: deps.clock });
    this.#isRegistered = new Promise((resolve) => {
      this.#registered = resolve;
    });
    const { runtimeName, runtimeVersion } = cri.version;
    agent.reportFrom({
      health: () => ({ problems: this.problems() }),
      facts: () => ({
        containerRuntimeVersion: `${runtimeName}://${runtimeVersion}`,
        kubeletPort: this.#server?.port ?? KUBELET_PORT,
        images: this.#images.list,
      }),
    });
  }

  /** Why the node is not Ready; empty: it is. Mirrors ReadyCondition in pkg/kubelet/nodestatus/setters.go. */
  problems(): string[] {
    const { runtimeState } = this.parts;
    return [...runtimeState.runtimeErrors(), ...runtimeState.networkErrors()];
  }

  /** Starts the server, whose port the node's status tells. */
  async serve(): Promise<OpenServer> {
    this.#server = await openServer(this.parts, { ...this.options, nodeIp: this.deps.agent.internalIp });
    return this.#server;
  }

  /** All loops, in upstream's order. Resolves when the signal aborts; rejects with what ended one of them. */
  run(): Promise<void> {
    const { parts } = this;
    const rotate = this.#server?.rotate;
    const loops: ((signal: AbortSignal) => Promise<void>)[] = [
      (inner) => parts.runtimeUp.run(inner),
      (inner) => parts.statusManager.run(inner),
      (inner) => parts.pleg.run(inner),
      (inner) => parts.nodes.run(inner),
      (inner) => parts.services.run(inner),
      (inner) => parts.modules.objectManagers.run(inner),
      (inner) => this.#images.run(inner),
      (inner) => collectGarbage({ ...this.deps, ...parts.modules, sourcesReady: parts.sourcesReady }, inner),
      (inner) => this.#logManager().run(inner),
      (inner) => this.#keepNode(inner),
      ...(rotate === undefined ? [] : [(inner: AbortSignal) => this.deps.trace.detached(() => rotate(inner))]),
      ...podSources(parts, this.options),
      (inner) => parts.loop.run(inner),
    ];
    this.#running = allUntilOneEnds(this.signal, loops).catch((error: unknown) => {
      if (!this.signal.aborted) throw error;
    });
    // Who waits for it may come later.
    this.#running.catch(() => {});
    return this.#running;
  }

  #logManager(): ContainerLogManager {
    const { cri, polling = cri, clock, trace } = this.deps;
    const { rootDir, logRotatePolicy: policy = DEFAULT_LOG_ROTATE_POLICY } = this.options;
    const options = { podLogsDirectory: podLogsDir(rootDir), policy };
    return new ContainerLogManager({ runtimeService: polling.runtime, clock, trace }, options);
  }

  /** The node's part: registration, first status, first lease. */
  async register(): Promise<void> {
    const { agent, trace } = this.deps;
    const isNew = this.options.isNodeKept !== true;
    if (isNew) {
      agent.birthCry();
      await agent.register(this.signal);
    }
    agent.recordEvent("Normal", "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods");
    await this.#untilReady(START_PATIENCE_MS);
    const problems = this.problems();
    if (problems.length > 0) {
      const hint = "It registers as NotReady; its status is written as soon as that changes.";
      trace.emit(
        { kind: "error", message: `the node is not ready: ${problems.join(", ")}`, hint },
        { actor: "kubelet" },
      );
    }
    await agent.reportReady(this.signal);
    if (isNew) await agent.renewOnce(this.signal);
    this.#registered();
    this.#registerStaticPods();
  }

  /**
   * Mirror pods need their Node: static pods that began before it was there are looked at again.
   * Mirrors fastStaticPodsRegistration, which later releases have: in v1.25 the next resync (a minute) makes them.
   */
  #registerStaticPods(): void {
    const { podManager, handlers } = this.parts;
    const withoutMirror = podManager.getPods().filter((pod) => {
      return isStaticPod(pod) && podManager.getMirrorPodByPod(pod) === undefined;
    });
    handlers.handlePodSyncs(withoutMirror);
  }

  async #keepNode(signal: AbortSignal): Promise<void> {
    const { agent, store } = this.deps;
    const { expirationSeconds, isNodeKept = false } = this.options;
    await orAborted(this.#isRegistered, signal);
    if (isNodeKept) return this.#fastStatusUpdateOnce(signal);
    await allUntilOneEnds(signal, [
      (inner) => this.#fastStatusUpdateOnce(inner),
      (inner) =>
        store === undefined
          ? agent.keepAlive(inner)
          : agent.keep(store, expirationSeconds === undefined ? {} : { expirationSeconds }, inner),
    ]);
  }

  /** A node that was not ready when it registered is reported as soon as it is. Then, until `signal` aborts, nothing. */
  async #fastStatusUpdateOnce(signal: AbortSignal): Promise<void> {
    if (this.problems().length > 0 && (await this.#untilReady(NODE_READY_GRACE_PERIOD_MS))) {
      await this.deps.agent.reportReady(signal);
    }
    await orAborted(new Promise<never>(() => {}), signal);
  }

  async #untilReady(patienceMs: number): Promise<boolean> {
    const { clock } = this.deps;
    const endMs = clock.now() + patienceMs;
    while (this.problems().length > 0) {
      if (clock.now() >= endMs) return false;
      await clock.sleep(FAST_STATUS_PERIOD_MS, this.signal);
    }
    return true;
  }

  async close(stop: AbortController): Promise<void> {
    stop.abort();
    await this.#server?.close();
    await this.parts.podWorkers.close();
    await this.parts.modules.prober.close();
    await this.parts.modules.objectManagers.close();
    try {
      await this.#running;
    } catch (error) {
      // Told by `done`; here it only ends.
      const fact = { kind: "error", message: messageOf(error) } as const;
      if (!isAbortError(error)) this.deps.trace.emit(fact, { actor: "kubelet", level: 2 });
    }
    const { containerDeletor, recorder } = this.parts;
    const left = containerDeletor.idle().then(() => recorder.flush());
    await waitAtMost(this.deps.clock, END_PATIENCE_MS, left);
  }
}

import { allUntilOneEnds, orAborted, waitAtMost } from "../../util/async/concurrency.js";
import { defined } from "../../util/defined.js";
import { isAbortError } from "../../util/errors.js";
import { KUBELET_PORT } from "../server/server.js";
import { isStaticPod } from "../types/pod-update.js";
import type { Kubelet } from "./kubelet.js";
import { type KubeletModules, loopsOf, type RunLoops } from "./modules.js";
import { type OpenServer, openServer } from "./serve.js";
import type { StartObserver } from "./start-observer.js";

/** How often and how long a new kubelet checks for readiness. Mirrors fastStatusUpdateOnce, nodeReadyGracePeriod. */
const FAST_STATUS_PERIOD_MS = 100;
const NODE_READY_GRACE_PERIOD_MS = 120_000;
/** How long `start` waits for the node to be ready. */
const START_PATIENCE_MS = 2_000;
/** How long closing waits for events that the API server does not accept. */
const END_PATIENCE_MS = 2_000;

/** A kubelet from its start to its end. Mirrors Run in pkg/kubelet/kubelet.go. */
export class KubeletRun {
  #server: OpenServer | undefined;
  #setRegistered: () => void = () => {};
  readonly #isRegistered = new Promise<void>((resolve) => {
    this.#setRegistered = resolve;
  });
  #running: Promise<void> = Promise.resolve();

  /** @param observer of the kubelet's start */
  constructor(
    readonly kubelet: Kubelet,
    readonly observer: StartObserver,
  ) {
    const { agent, cri } = kubelet.deps;
    const { runtimeName, runtimeVersion } = cri.version;
    agent.reportFrom({
      health: () => ({ problems: this.problems(), pressures: kubelet.evictionManager.conditions }),
      facts: () => ({
        containerRuntimeVersion: `${runtimeName}://${runtimeVersion}`,
        kubeletPort: this.#server?.port ?? KUBELET_PORT,
        images: kubelet.images.list,
        devices: kubelet.deviceManager.getCapacity(),
      }),
    });
  }

  /** Why the node is not Ready; empty if it is. Mirrors ReadyCondition in pkg/kubelet/nodestatus/setters.go. */
  problems(): string[] {
    const { runtimeState, shutdownManager } = this.kubelet;
    return [...runtimeState.runtimeErrors(), ...runtimeState.networkErrors(), ...shutdownManager.problems()];
  }

  /** Starts the server first, because the node's status contains its port. */
  async serve(): Promise<OpenServer> {
    this.#server = await openServer(this.kubelet);
    return this.#server;
  }

  /** What only a run has. */
  get loops(): RunLoops {
    const rotate = this.#server?.rotate;
    const { trace } = this.kubelet.ctx;
    return {
      keepNode: (signal) => this.#keepNode(signal),
      rotate: rotate === undefined ? undefined : (signal) => trace.detached(() => rotate(signal)),
    };
  }

  /** Runs all loops, in this order. Resolves when the signal aborts; rejects with the first error. */
  run({ dependencies, made, running, runtimeDependent }: KubeletModules): Promise<void> {
    const { kubelet, observer } = this;
    observer.version(kubelet.options.kubeVersion);
    observer.modules([...dependencies, ...made]);
    kubelet.deps.agent.birthCry();
    observer.modules(running);
    const whenRuntimeIsUp = async (signal: AbortSignal) => {
      await orAborted(kubelet.runtimeUp.firstUp, signal);
      observer.modules(runtimeDependent);
      await allUntilOneEnds(signal, loopsOf(runtimeDependent));
    };
    const loops = [...loopsOf([...made, ...running]), whenRuntimeIsUp];
    this.#running = allUntilOneEnds(kubelet.signal, loops).catch((error: unknown) => {
      if (!kubelet.signal.aborted) throw error;
    });
    // `done` is awaited later; this handler only prevents an unhandled rejection.
    this.#running.catch(() => {});
    return this.#running;
  }

  /**
   * Registers the node and reports its first status and lease.
   * Differs: no event NodeAllocatableEnforced, because nothing enforces the limits of node allocatable.
   */
  async register(): Promise<void> {
    const { deps, signal } = this.kubelet;
    const { agent } = deps;
    if (this.kubelet.config.registerNode) await agent.register(signal);
    else this.observer.notRegistered();
    await this.#untilReady(START_PATIENCE_MS);
    const problems = this.problems();
    if (problems.length > 0) this.observer.notReady(problems);
    await agent.reportReady(signal);
    await agent.renewOnce(signal);
    this.#setRegistered();
    this.#registerStaticPods();
  }

  /**
   * Syncs the static pods that started before the Node existed, because mirror pods need their Node.
   * Mirrors fastStaticPodsRegistration of later releases: in v1.25 the next resync (a minute) creates the mirror pods.
   */
  #registerStaticPods(): void {
    const { podManager, handlers } = this.kubelet;
    const withoutMirror = podManager.getPods().filter((pod) => {
      return isStaticPod(pod) && podManager.getMirrorPodByPod(pod) === undefined;
    });
    handlers.handlePodSyncs(withoutMirror);
  }

  async #keepNode(signal: AbortSignal): Promise<void> {
    const { deps, options, config } = this.kubelet;
    const { agent } = deps;
    const store = config.rotateCertificates === true ? deps.store : undefined;
    const { expirationSeconds } = options;
    await orAborted(this.#isRegistered, signal);
    const keep = (inner: AbortSignal) =>
      store === undefined ? agent.keepAlive(inner) : agent.keep(store, defined({ expirationSeconds }), inner);
    await allUntilOneEnds(signal, [(inner) => this.#fastStatusUpdateOnce(inner), keep]);
  }

  /** Reports a node that was not ready when it registered as soon as it is; then waits until `signal` aborts. */
  async #fastStatusUpdateOnce(signal: AbortSignal): Promise<void> {
    if (this.problems().length > 0 && (await this.#untilReady(NODE_READY_GRACE_PERIOD_MS))) {
      await this.kubelet.deps.agent.reportReady(signal);
    }
    await orAborted(new Promise<never>(() => {}), signal);
  }

  async #untilReady(patienceMs: number): Promise<boolean> {
    const { ctx, signal } = this.kubelet;
    const endMs = ctx.clock.now() + patienceMs;
    // The answers of this moment come in first, so that simulations with one seed agree.
    await ctx.clock.sleep(0, signal);
    while (this.problems().length > 0) {
      if (ctx.clock.now() >= endMs) return false;
      await ctx.clock.sleep(FAST_STATUS_PERIOD_MS, signal);
    }
    return true;
  }

  async close(stop: AbortController): Promise<void> {
    const { kubelet } = this;
    stop.abort();
    await this.#server?.close();
    await kubelet.podWorkers.close();
    await kubelet.prober.close();
    await kubelet.objectManagers.close();
    await kubelet.deviceManager.close();
    try {
      await this.#running;
    } catch (error) {
      // `done` rejects with this error; here it is only recorded.
      if (!isAbortError(error)) this.observer.ended(error);
    }
    const left = kubelet.containerDeletor.idle().then(() => kubelet.recorder.flush());
    await waitAtMost(kubelet.ctx.clock, END_PATIENCE_MS, left);
  }
}

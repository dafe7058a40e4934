import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Kubelet, KubeletHooks } from "../../kubelet/app/kubelet.js";
import { serveCri } from "../../staging/cri/server.js";
import type { Ctx } from "../../trace/ctx.js";
import type { Clock } from "../../util/clock.js";
import { isAbortError } from "../../util/errors.js";
import { makeTemporaryFolder } from "../../util/os/temporary-folder.js";
import type { PodHandler } from "./handler.js";
import { withWork } from "./pod-status.js";
import { virtualRuntimeCalls } from "./runtime-calls.js";
import { VirtualPods } from "./virtual-pods.js";

export interface VirtualRuntimeDeps extends Ctx {
  readonly handler: PodHandler;
}

export interface VirtualRuntimeOptions {
  /** limit of each pod's work; undefined: only the pod's activeDeadlineSeconds */
  readonly timeoutMs: number | undefined;
  /** the version in `Version`; default `0.1.0` */
  readonly version?: string;
}

/** A runtime whose containers are calls of a handler. */
export interface VirtualRuntime extends AsyncDisposable {
  /** `unix:///tmp/.../runtime.sock` */
  readonly endpoint: string;
  readonly pods: VirtualPods;
  /** notifies the kubelet of progress and results */
  readonly hooks: KubeletHooks;
  /** Abandons all work, removes the socket. Safe to call twice. */
  close(): Promise<void>;
}

/** The shortest time between two progress reports to the API server. */
const PROGRESS_PERIOD_MS = 1_000;

/**
 * Starts a CRI server for virtual pods. The kubelet requests sandboxes and containers as from any runtime, and each pod
 * becomes one call of the handler.
 *
 * Differs: upstream has nothing similar; the idea comes from virtual-kubelet's providers.
 * @throws LabError BAD_FILE when it cannot listen
 */
export async function startVirtualRuntime(
  deps: VirtualRuntimeDeps,
  options: VirtualRuntimeOptions,
): Promise<VirtualRuntime> {
  const folder = await makeTemporaryFolder("handler");
  const link = new KubeletLink(deps.clock);
  const pods = new VirtualPods(
    {
      ...deps,
      pod: (podUid) => link.parts?.podManager.getPodByUid(podUid),
      onChanged: (podUid) => link.tell(podUid, pods.records.sandboxOfPod(podUid)?.work?.outcome !== undefined),
    },
    options,
  );
  const hooks: KubeletHooks = {
    made: (parts) => {
      link.parts = parts;
    },
    podStatus: ({ metadata }, status) => withWork(status, pods.records.sandboxOfPod(metadata.uid)?.work),
  };
  try {
    const calls = virtualRuntimeCalls(pods, options.version ?? "0.1.0");
    const server = await serveCri(calls, `unix://${join(folder, "runtime.sock")}`, { trace: deps.trace });
    let closed: Promise<void> | undefined;
    const closeAll = async () => {
      link.close();
      await pods.close();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    };
    const close = () => {
      closed ??= closeAll();
      return closed;
    };
    return { endpoint: server.endpoint, pods, hooks, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Notifies the kubelet that a pod has news: an end at once, progress at most once per second. */
class KubeletLink {
  parts: Kubelet | undefined;
  readonly #waiting = new Set<string>();
  readonly #stop = new AbortController();

  constructor(readonly clock: Clock) {}

  tell(podUid: string, isOver: boolean): void {
    if (isOver) {
      this.parts?.pleg.relistSoon();
      return;
    }
    if (this.#waiting.has(podUid)) return;
    this.#waiting.add(podUid);
    void this.#notifyLater(podUid);
  }

  async #notifyLater(podUid: string): Promise<void> {
    try {
      await this.clock.sleep(PROGRESS_PERIOD_MS, this.#stop.signal);
    } catch (error) {
      if (isAbortError(error)) return;
      throw error;
    }
    this.#waiting.delete(podUid);
    const pod = this.parts?.podManager.getPodByUid(podUid);
    if (pod !== undefined) this.parts?.handlers.handlePodSyncs([pod]);
  }

  close(): void {
    this.#stop.abort();
  }
}

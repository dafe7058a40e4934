import type { KubeletParts } from "./sync/parts.js";
import { type KubeletDeps, type KubeletOptions, StartingKubelet } from "./sync/starting.js";

const FILE = "pkg/kubelet/kubelet.go";

/** A kubelet that has registered its node and looks after its pods. */
export interface RunningKubelet {
  readonly nodeName: string;
  /** `https://127.0.0.1:6443` */
  readonly apiServer: string;
  /** of its own server: `https://127.0.0.1:10250` */
  readonly url: string;
  readonly parts: KubeletParts;
  /** Is nothing wrong with the runtime and its network? */
  isReady(): boolean;
  /** Rejects when the kubelet cannot go on; resolves when it was closed. */
  readonly done: Promise<void>;
  /** Stops. Pods stay as they are: the next kubelet of this node goes on with them. Safe to call twice. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a kubelet: its loops, the registration of the node, its first status and lease. The node's client certificate is
 * all the identity that it has.
 *
 * Mirrors startKubelet in cmd/kubelet/app/server.go and Run in pkg/kubelet/kubelet.go.
 * Differs: the lease comes after the registration (see NodeAgent); the start waits up to 2 s for the node to be Ready.
 * @throws LabError UNAUTHORIZED, FORBIDDEN, REFUSED, CLUSTER_*; the signal's reason
 */
export async function startKubelet(
  deps: KubeletDeps,
  options: KubeletOptions,
  signal: AbortSignal,
): Promise<RunningKubelet> {
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener("abort", onAbort, { once: true });
  const upstream = { file: FILE, func: "Run" };
  const { agent, trace } = deps;
  const starting = new StartingKubelet(deps, options, stop.signal);
  let closed: Promise<void> | undefined;
  const close = () => {
    signal.removeEventListener("abort", onAbort);
    closed ??= starting.close(stop);
    return closed;
  };
  try {
    const { url } = await starting.serve();
    const done = trace.detached(() => starting.run());
    await trace.step("kubelet", `Start the kubelet of ${options.nodeName}`, { upstream }, async () => {
      // Whatever ends the loops ends the start.
      await Promise.race([starting.register(), done]);
    });
    const { parts } = starting;
    return {
      nodeName: options.nodeName,
      apiServer: agent.client.config.server,
      url,
      parts,
      isReady: () => starting.problems().length === 0,
      done,
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

import type {
  Container,
  ContainerState,
  Pod,
  PodRef,
  PodStatus,
  Runtime,
} from "../../../src/kubelet/container/runtime.js";

/** A runtime whose pods a test sets, and whose answers it can hold back or refuse. */
export class FakeRuntime implements Runtime {
  pods: Pod[] = [];
  /** thrown by the next getPods calls while set */
  listError: Error | undefined;
  /** thrown when one of these pods is inspected */
  readonly statusErrors = new Map<string, Error>();
  /** getPods waits for this first */
  held: Promise<void> = Promise.resolve();
  readonly inspected: string[] = [];
  inFlight = 0;
  mostInFlight = 0;

  async getPods(_all: boolean, signal: AbortSignal): Promise<readonly Pod[]> {
    await untilAborted(this.held, signal);
    if (this.listError !== undefined) throw this.listError;
    return this.pods;
  }

  async getPodStatus(pod: PodRef, _signal: AbortSignal): Promise<PodStatus> {
    this.inspected.push(pod.podUid);
    this.inFlight++;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    this.inFlight--;
    const error = this.statusErrors.get(pod.podUid);
    if (error !== undefined) throw error;
    return emptyStatus(pod);
  }
}

export function emptyStatus({ podUid, name, namespace }: PodRef): PodStatus {
  return { podUid, name, namespace, ips: [], containerStatuses: [], sandboxStatuses: [] };
}

/** Waits for `promise` or the signal, and leaves no listener behind. */
async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** A pod with one container `<uid>-c` and one sandbox `<uid>-s`. */
export function podOf(
  podUid: string,
  state: ContainerState = "running",
  sandboxState: ContainerState = "running",
): Pod {
  const container: Container = { containerId: `${podUid}-c`, name: "app", state };
  const sandbox: Container = { containerId: `${podUid}-s`, state: sandboxState };
  return { podUid, name: podUid, namespace: "default", createdAtMs: 0, containers: [container], sandboxes: [sandbox] };
}

import type { KubeClient } from "../../client-go/rest/client.js";
import { collectionPath, EVENTS } from "../../client-go/rest/paths.js";
import type { Level, Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { isAbortError, LabError } from "../../util/errors.js";

export interface RecorderDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly trace: Trace;
}

/**
 * Records Events about the node, in the background and in order: recording one never holds up what it is about, and a
 * failure to record one is nobody's failure.
 *
 * Mirrors k8s.io/client-go/tools/record/event.go (recorderImpl.Eventf, recordToSink).
 * Differs: events are not counted together into PATCHes, as a node's own are few.
 */
export class NodeEventRecorder {
  #tail: Promise<void> = Promise.resolve();
  #serial = 0;

  constructor(
    readonly deps: RecorderDeps,
    readonly nodeName: string,
  ) {}

  /** `Starting`, `NodeReady`, …: reasons as in pkg/kubelet/events/event.go */
  record(type: "Normal" | "Warning", reason: string, message: string, level: Level = 1): void {
    const event = this.#event(type, reason, message);
    this.deps.trace.emit(
      { kind: "event", type, reason, message, object: `Node/${this.nodeName}` },
      { actor: "kubelet", level },
    );
    this.#tail = this.#tail.then(() => this.#send(event));
  }

  /** Mirrors recordNodeStatusEvent in pkg/kubelet/kubelet_node_status.go. */
  recordStatus(reason: string, level: Level = 1): void {
    this.record("Normal", reason, `Node ${this.nodeName} status is now: ${reason}`, level);
  }

  /** Resolves when everything recorded so far was sent, or could not be. */
  flush(): Promise<void> {
    return this.#tail;
  }

  #event(type: string, reason: string, message: string) {
    const nowMs = this.deps.clock.now();
    const time = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
    // Upstream names an event by the nanosecond; our clock counts milliseconds, so a serial number takes the rest.
    const nanos = BigInt(Math.round(nowMs)) * 1_000_000n + BigInt(this.#serial++);
    return {
      kind: "Event",
      apiVersion: "v1",
      metadata: { name: `${this.nodeName}.${nanos.toString(16)}`, namespace: "default" },
      // The kubelet does not know its node's uid: it puts the name there (nodeRef in pkg/kubelet/kubelet.go).
      involvedObject: { kind: "Node", name: this.nodeName, uid: this.nodeName },
      reason,
      message,
      source: { component: "kubelet", host: this.nodeName },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      type,
      eventTime: null,
      reportingComponent: "",
      reportingInstance: "",
    };
  }

  async #send(event: unknown): Promise<void> {
    try {
      const path = collectionPath({ ...EVENTS, namespace: "default" });
      await this.deps.client.request({ method: "POST", path, body: event });
    } catch (error) {
      // The client has reported it; an Event is not worth more than that.
      if (!(error instanceof LabError) && !isAbortError(error)) throw error;
    }
  }
}

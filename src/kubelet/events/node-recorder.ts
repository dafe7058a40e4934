import { EVENTF, type EventType, Recorder } from "../../staging/client-go/record/recorder.js";
import { ignoreFailedRequest, RestEventSink } from "../../staging/client-go/record/rest-sink.js";
import type { ClientCtx } from "../../staging/client-go/rest/client.js";
import type { Level } from "../../trace/trace.js";

/** Records Events about the node, without waiting for the write. */
export class NodeEventRecorder {
  readonly #recorder: Recorder;
  readonly #closing = new AbortController();

  constructor(
    readonly deps: ClientCtx,
    readonly options: { readonly nodeName: string; readonly kubeVersion: string },
  ) {
    const { client, clock, random } = deps;
    const { signal } = this.#closing;
    const { nodeName, kubeVersion } = options;
    this.#recorder = new Recorder(
      { clock, sink: new RestEventSink(client), retry: { random, signal }, onError: ignoreFailedRequest },
      { source: { component: "kubelet", host: nodeName }, kubeVersion },
    );
  }

  /** @param reason as in pkg/kubelet/events/event.go: `Starting`, `NodeReady`, ... */
  record(type: EventType, reason: string, message: string, level: Level = 1, upstream = EVENTF): void {
    const { nodeName } = this.options;
    const object = `Node/${nodeName}`;
    const { trace } = this.deps;
    const fact = { kind: "event", type, reason, message, object, upstream } as const;
    const { id } = trace.emit(fact, { actor: "kubelet", level });
    // The kubelet does not know the uid of its node: it puts the name there (nodeRef in pkg/kubelet/kubelet.go).
    const about = { kind: "Node", name: nodeName, uid: nodeName };
    trace.because({ causedBy: id }, () => this.#recorder.event(about, type, reason, message));
  }

  /** Mirrors recordNodeStatusEvent in pkg/kubelet/kubelet_node_status.go. */
  recordStatus(reason: string, level: Level = 1): void {
    const upstream = { file: "pkg/kubelet/kubelet_node_status.go", func: "recordNodeStatusEvent" };
    this.record("Normal", reason, `Node ${this.options.nodeName} status is now: ${reason}`, level, upstream);
  }

  /** Ends the retries. Resolves when every event recorded so far was written or dropped. */
  close(): Promise<void> {
    this.#closing.abort();
    return this.#recorder.flush();
  }
}

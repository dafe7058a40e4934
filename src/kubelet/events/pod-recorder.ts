import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { EventPace } from "../../staging/client-go/record/event-pace.js";
import { EVENTF, type EventType, Recorder } from "../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../staging/client-go/record/reference.js";
import { ignoreFailedRequest, RestEventSink } from "../../staging/client-go/record/rest-sink.js";
import type { ClientCtx } from "../../staging/client-go/rest/client.js";
import { podText } from "../types/pod-update.js";

/** Records Events about pods, without waiting for the write. Mirrors record.EventRecorder. */
export interface PodEventRecorder {
  /** @param reason as in pkg/kubelet/events/event.go: `FailedSync`, `Killing`, ... */
  event(pod: V1Pod, type: EventType, reason: string, message: string, options?: PodEventOptions): void;
}

export interface PodEventOptions {
  /** the part of the pod: `spec.containers{app}` */
  readonly fieldPath?: string;
  /** of the Event object; they tell programs why the pod was evicted */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Writes Events about pods to the API server. Mirrors the EventClient that cmd/kubelet/app/server.go makes. */
export class ApiPodEventRecorder implements PodEventRecorder {
  readonly #recorder: Recorder;

  /** @param signal aborts when the kubelet ends: the remaining events are then written without a pause, and not retried */
  constructor(
    readonly deps: ClientCtx,
    options: { readonly nodeName: string; readonly kubeVersion: string },
    signal: AbortSignal,
  ) {
    const { client, clock, random } = deps;
    const { nodeName, kubeVersion } = options;
    const pace = new EventPace(clock, kubeVersion, signal);
    this.#recorder = new Recorder(
      { clock, sink: new RestEventSink(client), pace, retry: { random, signal }, onError: ignoreFailedRequest },
      { source: { component: "kubelet", host: nodeName }, kubeVersion },
    );
  }

  event(pod: V1Pod, type: EventType, reason: string, message: string, options: PodEventOptions = {}): void {
    const object = `Pod/${podText(pod)}`;
    const { trace } = this.deps;
    const { id } = trace.emit({ kind: "event", type, reason, message, object, upstream: EVENTF }, { actor: "kubelet" });
    const { fieldPath = "", annotations } = options;
    const reference = {
      ...referenceTo({ ...pod, kind: "Pod", apiVersion: "v1" }),
      ...(fieldPath === "" ? {} : { fieldPath }),
    };
    trace.because({ causedBy: id }, () => this.#recorder.event(reference, type, reason, message, annotations));
  }

  /** Resolves when every event recorded so far was written or dropped. */
  flush(): Promise<void> {
    return this.#recorder.flush();
  }
}

import type { V1Pod } from "../../apimachinery/api/pod.js";
import { isSuccess } from "../../client-go/rest/answers.js";
import { collectionPath, EVENTS, objectPath } from "../../client-go/rest/paths.js";
import { factFor } from "../../release/facts.js";
import { defined } from "../../util/defined.js";
import { isAbortError, LabError } from "../../util/errors.js";
import { podText } from "../types/pod-update.js";
import { type Correlated, EventCorrelator, remember } from "./correlator.js";
import { EventPace } from "./event-pace.js";
import type { RecorderDeps } from "./recorder.js";

/** Records Events about pods. Recording one never holds up what it is about. Mirrors record.EventRecorder. */
export interface PodEventRecorder {
  /** @param reason as in pkg/kubelet/events/event.go: `FailedSync`, `Killing`, ... */
  event(pod: V1Pod, type: "Normal" | "Warning", reason: string, message: string, options?: PodEventOptions): void;
}

export interface PodEventOptions {
  /** which part of the pod: `spec.containers{app}` */
  readonly fieldPath?: string;
}

/** So many may wait to be written; more are lost, as upstream's full queue loses them. Mirrors maxQueuedEvents. */
const MAX_QUEUED_EVENTS = 1_000;

interface Written {
  readonly name: string;
  readonly firstTimestamp: string;
}

/**
 * Writes Events about pods to the API server, in the background and in order.
 *
 * Mirrors k8s.io/client-go/tools/record/event.go (recorderImpl.Eventf, recordToSink, recordEvent).
 * Differs: an event that the API server does not take is not tried again.
 */
export class ApiPodEventRecorder implements PodEventRecorder {
  readonly #correlator: EventCorrelator;
  readonly #pace: EventPace;
  readonly #written = new Map<string, Written>();
  #tail: Promise<void> = Promise.resolve();
  #queued = 0;
  #serial = 0;

  /** @param signal the end of the kubelet: what is left is written without a pause */
  constructor(
    readonly deps: RecorderDeps,
    readonly options: { readonly nodeName: string; readonly kubeVersion: string },
    signal: AbortSignal,
  ) {
    this.#correlator = new EventCorrelator(deps.clock, options.kubeVersion);
    this.#pace = new EventPace(deps.clock, options.kubeVersion, signal);
  }

  event(pod: V1Pod, type: "Normal" | "Warning", reason: string, message: string, options: PodEventOptions = {}): void {
    const object = `Pod/${podText(pod)}`;
    this.deps.trace.emit({ kind: "event", type, reason, message, object }, { actor: "kubelet" });
    const { fieldPath = "" } = options;
    const correlated = this.#correlator.correlate({ object: pod.metadata.uid, type, reason, message, fieldPath });
    if (correlated.kind === "dropped" || this.#queued >= MAX_QUEUED_EVENTS) return;
    const nowMs = this.deps.clock.now();
    this.#queued++;
    this.#tail = this.#tail.then(async () => {
      await this.#pace.turn();
      await this.#write(pod, { type, reason, fieldPath }, correlated, nowMs);
      this.#queued--;
    });
  }

  /** Resolves when everything recorded so far was written, or could not be. */
  flush(): Promise<void> {
    return this.#tail;
  }

  async #write(
    pod: V1Pod,
    said: { readonly type: string; readonly reason: string; readonly fieldPath: string },
    { key, message, count }: Exclude<Correlated, { kind: "dropped" }>,
    nowMs: number,
  ): Promise<void> {
    const { namespace } = pod.metadata;
    const lastTimestamp = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
    const before = this.#written.get(key);
    try {
      if (before !== undefined) {
        const path = objectPath({ ...EVENTS, namespace }, before.name);
        const contentType = "application/strategic-merge-patch+json";
        const body = { count, lastTimestamp, message };
        const patched = await this.deps.client.request({ method: "PATCH", path, contentType, body });
        // The API server forgets events after an hour: then it is written anew, with its name and its beginning.
        if (patched.status !== 404) return;
      }
      const written = before ?? { name: this.#name(pod, nowMs), firstTimestamp: lastTimestamp };
      const body = { ...this.#body(pod, said), ...this.#times(written, lastTimestamp), message, count };
      const event = { ...body, metadata: { name: written.name, namespace } };
      const path = collectionPath({ ...EVENTS, namespace });
      const answer = await this.deps.client.request({ method: "POST", path, body: event });
      if (isSuccess(answer)) remember(this.#written, key, written);
    } catch (error) {
      // The client has reported it; an Event is not worth more than that.
      if (!(error instanceof LabError) && !isAbortError(error)) throw error;
    }
  }

  /** Upstream names an event by the nanosecond; our clock counts milliseconds, so a serial number takes the rest. */
  #name(pod: V1Pod, nowMs: number): string {
    const nanos = BigInt(Math.round(nowMs)) * 1_000_000n + BigInt(this.#serial++);
    return `${pod.metadata.name}.${nanos.toString(16)}`;
  }

  #times({ firstTimestamp }: Written, lastTimestamp: string) {
    return { firstTimestamp, lastTimestamp, eventTime: null };
  }

  #body(pod: V1Pod, { type, reason, fieldPath }: { type: string; reason: string; fieldPath: string }) {
    const { name, namespace, uid, resourceVersion } = pod.metadata;
    const { nodeName, kubeVersion } = this.options;
    const isReporting = factFor("eventReportingComponent", kubeVersion);
    return {
      kind: "Event",
      apiVersion: "v1",
      involvedObject: {
        kind: "Pod",
        namespace,
        name,
        uid,
        apiVersion: "v1",
        ...defined({ resourceVersion }),
        ...(fieldPath === "" ? {} : { fieldPath }),
      },
      reason,
      source: { component: "kubelet", host: nodeName },
      type,
      reportingComponent: isReporting ? "kubelet" : "",
      reportingInstance: isReporting ? nodeName : "",
    };
  }
}

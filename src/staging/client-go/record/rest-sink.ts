import { isAbortError, LabError } from "../../../util/errors.js";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import { isSuccess } from "../rest/answers.js";
import type { KubeClient } from "../rest/client.js";
import { collectionPath, EVENTS, objectPath } from "../rest/paths.js";
import type { EventPatch, EventSink } from "./recorder.js";

/** Writes events over HTTPS. Mirrors EventSinkImpl in k8s.io/client-go/kubernetes/typed/core/v1/event_expansion.go. */
export class RestEventSink implements EventSink {
  constructor(readonly client: KubeClient) {}

  async create(namespace: string, event: KubeObject): Promise<boolean> {
    const path = collectionPath({ ...EVENTS, namespace });
    return isSuccess(await this.client.request({ method: "POST", path, body: event }));
  }

  async patch(namespace: string, name: string, body: EventPatch): Promise<boolean> {
    const path = objectPath({ ...EVENTS, namespace }, name);
    const contentType = "application/strategic-merge-patch+json";
    const { status } = await this.client.request({ method: "PATCH", path, contentType, body });
    return status !== 404;
  }
}

/** The client already reported the failed request; the event is lost. */
export function ignoreFailedRequest(error: unknown): void {
  if (!(error instanceof LabError) && !isAbortError(error)) throw error;
}

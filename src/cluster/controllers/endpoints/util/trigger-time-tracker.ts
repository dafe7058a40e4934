import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../../staging/apimachinery/api/object-key.js";
import { nameOf, type PodObject } from "../../../../staging/apimachinery/api/objects.js";
import { findCondition } from "../../../../staging/apimachinery/api/pod.js";
import { rfc3339 } from "../../../../staging/apimachinery/time.js";

/** On Endpoints and EndpointSlices: when the change that they show happened. */
export const LAST_CHANGE_TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time";

interface ServiceState {
  readonly serviceMs: number;
  /** pod name -> when its readiness changed last */
  readonly podMs: ReadonlyMap<string, number>;
}

/**
 * Finds out which change of a service or its pods leads to new endpoints.
 *
 * Mirrors TriggerTimeTracker in pkg/controller/util/endpoint/trigger_time_tracker.go.
 */
export class TriggerTimeTracker {
  readonly #states = new Map<string, ServiceState>();

  /**
   * The earliest change since the last call for this service. Call it in each pass, also when nothing is written.
   * Mirrors ComputeEndpointLastChangeTriggerTime. @returns RFC 3339; undefined if nothing changed
   */
  compute(service: KubeObject, pods: readonly PodObject[]): string | undefined {
    const key = keyOf(service);
    const known = this.#states.get(key);
    const podMs = new Map<string, number>();
    const changed: number[] = [];
    for (const pod of pods) {
      const ms = timeMs(findCondition(pod.status?.conditions, "Ready")?.lastTransitionTime);
      if (ms === undefined) continue;
      podMs.set(nameOf(pod), ms);
      if (ms > (known?.podMs.get(nameOf(pod)) ?? 0)) changed.push(ms);
    }
    const serviceMs = timeMs(service.metadata.creationTimestamp) ?? 0;
    if (serviceMs > (known?.serviceMs ?? 0)) changed.push(serviceMs);
    this.#states.set(key, { serviceMs, podMs });
    if (known === undefined) return rfc3339(serviceMs);
    return changed.length === 0 ? undefined : rfc3339(Math.min(...changed));
  }

  /** @param key `namespace/name` */
  deleteService(key: string): void {
    this.#states.delete(key);
  }
}

function timeMs(time: string | null | undefined): number | undefined {
  const ms = Date.parse(time ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

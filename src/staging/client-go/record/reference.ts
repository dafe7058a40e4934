import { createHash } from "node:crypto";
import type { KubeObject } from "../../apimachinery/api/meta.js";

/** The object that an event is about. Mirrors v1.ObjectReference; absent fields stay absent on the wire. */
export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** a part of the object: `spec.containers{app}` */
  readonly fieldPath?: string;
}

/** A reference to an object as it was read. Mirrors GetReference in k8s.io/client-go/tools/reference/ref.go. */
export function referenceTo({ apiVersion, kind, metadata }: KubeObject): ObjectReference {
  const { namespace, name = "", uid, resourceVersion } = metadata;
  return {
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    ...(uid === undefined ? {} : { uid }),
    apiVersion,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

const NANOS_PER_MS = 1_000_000n;

/**
 * Event names: the object's name and the time in Unix nanoseconds, which never repeats. Mirrors makeEvent in event.go.
 * The clock counts milliseconds, so the component decides the rest: two components can record events about objects of one
 * name, such as a Service and its Endpoints, at the same time.
 */
export class EventNames {
  readonly #offset: bigint;
  #lastNanos = 0n;

  /** @param component `endpoint-controller`, or with its host */
  constructor(component: string) {
    this.#offset = BigInt(`0x${createHash("md5").update(component).digest("hex").slice(0, 12)}`) % NANOS_PER_MS;
  }

  next(objectName: string, nowMs: number): string {
    const nanos = BigInt(Math.round(nowMs)) * NANOS_PER_MS + this.#offset;
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n;
    return `${objectName}.${this.#lastNanos.toString(16)}`;
  }
}

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

/** Event names: the object's name and the time in Unix nanoseconds, which never repeats. Mirrors makeEvent in event.go. */
export class EventNames {
  #lastNanos = 0n;

  next(objectName: string, nowMs: number): string {
    const nanos = BigInt(Math.round(nowMs)) * 1_000_000n;
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n;
    return `${objectName}.${this.#lastNanos.toString(16)}`;
  }
}

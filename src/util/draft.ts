/**
 * A mutable copy of an object that is readonly afterwards:
 *
 * const copy: Draft<KubeObject> = { ...pod };
 * copy.spec = spec;
 *
 * `{ ...pod, spec }` means the same, but if the pod already has a spec, V8 defines the field again in the runtime,
 * which costs ten times as much as copying and assigning. Code that runs for every write uses this.
 */
export type Draft<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A fresh copy of something that nobody may change, while its maker still does:
 *
 *     const copy: Draft<KubeObject> = { ...pod };
 *     copy.spec = spec;
 *
 * `{ ...pod, spec }` says the same. Where the pod has a spec already, V8 takes a slow way for it: such a literal defines the
 * field anew, in the runtime, which costs ten times as much as to copy and to assign. The paths that every write takes do so.
 */
export type Draft<T> = { -readonly [K in keyof T]: T[K] };

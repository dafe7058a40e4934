type Scalar = string | number | bigint | boolean | undefined | null;

/**
 * The wire form of an API type of @kubernetes/client-node: JSON, deeply readonly, with RFC 3339 texts for dates (Go
 * writes its zero time as null). A server always sends `apiVersion`, `kind` and `metadata`, so whole objects have them.
 *
 * Import the class with `import type`, so that the client itself is never loaded: `Wire<V1Pod>`.
 */
export type Wire<T> = unknown extends T
  ? unknown
  : T extends Scalar
    ? T
    : T extends Date
      ? string | null
      : T extends readonly (infer U)[]
        ? readonly Wire<U>[]
        : Kind<T> extends true
          ? WireFields<Omit<T, KindField>> & KindFields<T>
          : WireFields<T>;

/** client-node prefixes fields that are reserved words with `_`: `_continue`. */
type WireFields<T> = { readonly [K in keyof T as K extends `_${infer Name}` ? Name : K]: Wire<T[K]> };

type KindField = "apiVersion" | "kind" | "metadata";

/** A class with all three fields is a kind. Maps have every key and are not. */
type Kind<T> = string extends keyof T ? false : KindField extends keyof T ? true : false;

/** Not an interface: kinds must be assignable to the index signature of `KubeObject`. */
type KindFields<T> = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: T extends { metadata?: infer M } ? WireFields<NonNullable<M>> : never;
};

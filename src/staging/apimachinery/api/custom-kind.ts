import type { KubeObject } from "./meta.js";

/** A kind that a CustomResourceDefinition describes. */
export interface CustomKind {
  /** the JSON schema of an object, as its definition has it */
  readonly schema: object;
  /**
   * Converts a JSON value to the stored form: known fields only, with defaults.
   * @param value fresh; it may become part of the object
   * @throws what `isDecodingError` knows
   */
  decode(value: unknown): {
    readonly object: KubeObject;
    /** `unknown field "spec.x"` */
    readonly unknownFields: readonly string[];
  };
  /** Merges what a manager applies into an object, each list as its type says. */
  merge(current: KubeObject, applied: unknown): unknown;
}

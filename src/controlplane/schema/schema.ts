import type { KubeObject } from "../../api/meta.js";

/**
 * What the API server knows of its types' shapes, without knowing kinds by name: decoding of JSON (with Go's messages for
 * a field of the wrong type), unknown and duplicate fields, the fields that are always present in answers, defaults, merge
 * keys for strategic merge patch, protobuf numbers where kubectl sends protobuf, OpenAPI documents.
 */

/** `null` counts as absent, as in Go. */
export type FieldType =
  | {
      readonly type:
        | "string"
        | "boolean"
        | "int32"
        | "int64"
        | "double"
        | "bytes"
        | "time"
        | "microtime"
        | "quantity"
        | "intOrString"
        | "any";
    }
  | { readonly type: "object"; readonly ref: string }
  | { readonly type: "array"; readonly items: FieldType }
  | { readonly type: "map"; readonly values: FieldType };

export interface Field {
  readonly type: FieldType;
  /** Go's struct fields without omitempty: present in every answer, as `{}`, `null`, "" or 0 */
  readonly always?: boolean;
  /** the merge key of a list that strategic merge patch merges; "" for a list of plain values that is merged as a set */
  readonly mergeKey?: string;
  /** strategic merge patch's `retainKeys` (unions such as volumes) */
  readonly retainKeys?: boolean;
  /** the field's number in protobuf, for the few kinds that arrive so */
  readonly protobuf?: number;
  /** what an absent field becomes when an object is created or updated; computed defaults are the strategy's */
  readonly default?: unknown;
  /** for OpenAPI and `kubectl explain`, in our own words */
  readonly description?: string;
  readonly required?: boolean;
}

export interface TypeSchema {
  /** `PodSpec` */
  readonly name: string;
  /** Go's package-qualified name in error texts where it differs from `name` */
  readonly goName?: string;
  readonly fields: Readonly<Record<string, Field>>;
}

export interface DecodeResult {
  /** known fields only, canonical: times cut, defaults filled in, always-present fields present */
  readonly object: KubeObject;
  /** paths as upstream's warnings name them: `spec.unknownThing`, `metadata.labels2` */
  readonly unknownFields: readonly string[];
}

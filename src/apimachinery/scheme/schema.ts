import type { KubeObject } from "../api/meta.js";

/**
 * What TypeScript's types of the API objects cannot hold: protobuf numbers, merge keys, defaults, fields that are always
 * present, texts. The API server reads it to decode JSON and protobuf, to report unknown and duplicate fields, to apply
 * strategic merge patches and to write OpenAPI documents, without knowing kinds by name. The tables themselves are in
 * `fixtures/scheme`, one file for each API group; `test/apimachinery/scheme/table-types.test.ts` checks them against the types.
 */

/** A kind and the name of its type in the tables. A `ResourceDefinition` is one. */
export interface KindRef {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** `Pod`, or `events.Event` where two groups share a name */
  readonly schema: string;
  /** bodies of these versions are taken as well */
  readonly olderVersions?: readonly string[];
}

/** How to treat unknown and duplicate fields: the query parameter of the same name. The default is Warn. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** An object as the server keeps it: known fields only, times cut, defaults filled in, always-present fields present. */
export interface DecodedBody {
  readonly object: KubeObject;
  /** texts for `Warning: 299` headers, under fieldValidation=Warn: `unknown field "spec.x"`, `duplicate field "y"` */
  readonly warnings: readonly string[];
}

export type ScalarType =
  | "string"
  | "boolean"
  | "int32"
  | "int64"
  | "double"
  /** base64 in JSON */
  | "bytes"
  /** RFC 3339, whole seconds */
  | "time"
  /** RFC 3339 with exactly six decimals */
  | "microtime"
  /** a number with a suffix, kept as it was written */
  | "quantity"
  /** the same, rewritten to upstream's canonical form and rounded up to thousandths: what resource lists hold */
  | "resourceQuantity"
  | "intOrString"
  /** any JSON value: FieldsV1, RawExtension */
  | "any";

/** `null` counts as absent, as in Go. */
export type FieldType =
  | { readonly type: ScalarType }
  | { readonly type: "object"; readonly ref: string }
  | { readonly type: "array"; readonly items: FieldType }
  | { readonly type: "map"; readonly values: FieldType };

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  /**
   * Go has a pointer here: an explicit zero (0, false, "", {}) is kept. Without one a zero value is the same as none, and
   * a struct or a time is never absent (`resources: {}`, `creationTimestamp: null`).
   */
  readonly pointer: boolean;
  /** Go's omitempty; false: present in every answer, as null, "", 0 or {} */
  readonly omitEmpty: boolean;
  readonly required: boolean;
  /** the merge key of a list that strategic merge patch merges; "" for a list of plain values that is merged as a set */
  readonly mergeKey?: string;
  /** strategic merge patch's `retainKeys` (unions such as volumes) */
  readonly retainKeys: boolean;
  /** strategic merge patch replaces this struct as a whole */
  readonly replace: boolean;
  /** fields of an embedded struct stand in JSON beside its siblings, in protobuf in a message of their own */
  readonly inline: boolean;
  /** the field's number in protobuf; 0: not sent (kind and apiVersion are in the envelope) */
  readonly protobuf: number;
  /** what an absent (without `pointer` also a zero) value becomes; what depends on other fields is in `defaults/` */
  readonly default?: string | number | boolean;
  /** for OpenAPI and `kubectl explain`, in our own words */
  readonly description?: string;
}

export interface TypeSchema {
  /** as the tables name it: `PodSpec`, `events.Event` */
  readonly name: string;
  /** Go's name of the struct, for error texts: `PodSpec`, `Event` */
  readonly goName: string;
  /** for OpenAPI: `io.k8s.api.core.v1` */
  readonly package: string;
  readonly description?: string;
  /** in Go's order; embedded structs as one field with `inline` */
  readonly fields: readonly Field[];
  /** has kind and apiVersion of its own */
  readonly isKind: boolean;
}

/** One type: field -> its row in the notation of `notation.ts`. */
export type TypeRows = Readonly<Record<string, string>>;

/** The types of one API group: a file of `fixtures/scheme`. */
export interface TypeTable {
  /** `io.k8s.api.core.v1` */
  readonly package: string;
  /** a name that two groups share carries the group: `events.Event` */
  readonly types: Readonly<Record<string, TypeRows>>;
}

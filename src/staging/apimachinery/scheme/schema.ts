import type { CustomKind } from "../api/custom-kind.js";
import type { KubeObject } from "../api/meta.js";

/**
 * The properties of API types that TypeScript's types lack: protobuf numbers, merge keys, defaults, always-present
 * fields, descriptions. With them the API server decodes JSON and protobuf, reports unknown and duplicate fields, applies
 * strategic merge patches and writes OpenAPI documents, without code for single kinds. The tables are in
 * `fixtures/scheme`, one file per API group; `test/staging/apimachinery/scheme/table-types.test.ts` compares them to the types.
 */

/** A kind and the name of its type in the tables. A `ResourceDefinition` is one. */
export interface KindRef {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** `Pod`, or `events.Event` where two groups share a name */
  readonly schema: string;
  /** bodies of these versions are accepted, too */
  readonly olderVersions?: readonly string[];
  /** set for kinds that no table describes: `schema` then only has what all objects have in common */
  readonly custom?: CustomKind;
}

/** How to handle unknown and duplicate fields: the query parameter of the same name. The default is Warn. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** The stored form of an object: known fields only, times truncated, defaults set, always-present fields present. */
export interface DecodedBody {
  readonly object: KubeObject;
  /** texts for `Warning: 299` headers, under fieldValidation=Warn: `unknown field "spec.x"`, `duplicate field "y"` */
  readonly warnings: readonly string[];
  /** the body's value as it was sent, without defaults */
  readonly sent?: unknown;
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
  /** a number with a suffix, kept as written */
  | "quantity"
  /** a quantity in upstream's canonical form, rounded up to thousandths: used in resource lists */
  | "resourceQuantity"
  | "intOrString"
  /** any JSON value: FieldsV1, RawExtension */
  | "any";

/** `null` counts as absent, like in Go. */
export type FieldType =
  | { readonly type: ScalarType }
  /** `or`: a value of this other JSON type is kept as it is */
  | { readonly type: "object"; readonly ref: string; readonly or?: "boolean" | "array" }
  | { readonly type: "array"; readonly items: FieldType }
  | { readonly type: "map"; readonly values: FieldType };

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  /**
   * The field is a pointer in Go: an explicit zero (0, false, "", {}) is kept. For other fields a zero value counts as
   * absent, and a struct or a time is always present (`resources: {}`, `creationTimestamp: null`).
   */
  readonly pointer: boolean;
  /** Go's omitempty; false: present in every response, as null, "", 0 or {} */
  readonly omitEmpty: boolean;
  readonly required: boolean;
  /** the merge key of a list in strategic merge patches; "" for a list of plain values that is merged as a set */
  readonly mergeKey?: string;
  /** strategic merge patch's `retainKeys` (unions such as volumes) */
  readonly retainKeys: boolean;
  /** a strategic merge patch replaces this struct as a whole */
  readonly replace: boolean;
  /** an embedded struct: its fields are siblings of the others in JSON, and a message of their own in protobuf */
  readonly inline: boolean;
  /** the field's number in protobuf; 0: not sent (kind and apiVersion are in the envelope) */
  readonly protobuf: number;
  /** the default for an absent (without `pointer` also a zero) value; `defaults/` sets those that need other fields */
  readonly default?: string | number | boolean;
  /** for OpenAPI and `kubectl explain`, not copied from upstream */
  readonly description?: string;
}

export interface TypeSchema {
  /** the name in the tables: `PodSpec`, `events.Event` */
  readonly name: string;
  /** Go's name of the struct, for messages: `PodSpec`, `Event` */
  readonly goName: string;
  /** for OpenAPI: `io.k8s.api.core.v1` */
  readonly package: string;
  readonly description?: string;
  /** in Go's order; an embedded struct is one field with `inline` */
  readonly fields: readonly Field[];
  /** has its own kind and apiVersion */
  readonly isKind: boolean;
}

/** One type: field -> its row in the notation of `notation.ts`. */
export type TypeRows = Readonly<Record<string, string>>;

/** The types of one API group: a file of `fixtures/scheme`. */
export interface TypeTable {
  /** `io.k8s.api.core.v1` */
  readonly package: string;
  /** a name that two groups share includes the group: `events.Event` */
  readonly types: Readonly<Record<string, TypeRows>>;
}

import type { CustomKind } from "../../../../../staging/apimachinery/api/custom-kind.js";
import type { KubeObject } from "../../../../../staging/apimachinery/api/meta.js";
import { ShapeError } from "../../../../../staging/apimachinery/scheme/decode.js";
import { goQuote } from "../../../../../staging/apimachinery/scheme/go-text.js";
import { isRecord } from "../../../../../util/records.js";
import { withDefaults } from "../schema/defaulting.js";
import { decodeEmbedded, decodeMeta, hasEmbedded } from "../schema/object-meta.js";
import { prune } from "../schema/prune.js";
import type { JsonSchema } from "../types.js";
import { mergeApplied } from "./apply.js";

/**
 * Decodes the objects of one version of a custom kind: adds defaults, drops unknown fields.
 *
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go (unstructuredDefaulter.Default,
 * schemaCoercingDecoder.Decode).
 */
export class CustomDecoder implements CustomKind {
  readonly #hasEmbedded: boolean;

  constructor(readonly schema: JsonSchema) {
    this.#hasEmbedded = hasEmbedded(schema);
  }

  decode(value: unknown): { readonly object: KubeObject; readonly unknownFields: readonly string[] } {
    if (!isRecord(value)) throw new ShapeError("json: cannot unmarshal into Go value of type map[string]interface {}");
    const paths: string[] = [];
    const unknown = (path: string) => paths.push(path);
    const defaulted = withDefaults(value, this.schema) as Record<string, unknown>;
    const coerced = this.#hasEmbedded ? decodeEmbedded(defaulted, this.schema, unknown) : defaulted;
    const { metadata: _metadata, ...fields } = prune(coerced, this.schema, true, unknown) as KubeObject;
    const metadata = decodeMeta(value["metadata"], unknown);
    const { apiVersion, kind, ...rest } = fields;
    return {
      object: { apiVersion, kind, metadata, ...rest },
      unknownFields: paths.sort().map((path) => `unknown field ${goQuote(path)}`),
    };
  }

  /** A stored object in the form of the present schema. Its metadata is as it was. */
  fromStored(stored: KubeObject): KubeObject {
    return prune(withDefaults(stored, this.schema), this.schema, true) as KubeObject;
  }

  merge(current: KubeObject, applied: unknown): unknown {
    return mergeApplied(current, applied, this.schema);
  }
}

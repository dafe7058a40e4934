import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { groupVersion } from "../../../staging/apimachinery/api/resource.js";
import { statusError } from "../../../staging/apimachinery/errors.js";
import { decodeDeleteOptions, decodeRequestBody } from "../../../staging/apimachinery/scheme/request.js";
import type { DecodedBody, FieldValidation, KindRef } from "../../../staging/apimachinery/scheme/schema.js";
import type { JsonOfYaml } from "../../../staging/apimachinery/yaml.js";
import type { Change } from "../../../trace/events.js";
import { isRecord } from "../../../util/records.js";
import { changesBetween, type ReportStage } from "../registry/rest/stages.js";
import type { Exchange } from "./exchange.js";
import { JSON_TYPE, OBJECT_TYPES, PROTOBUF_TYPE, YAML_TYPE } from "./media-types.js";

const CODEC = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go",
  func: "NegotiateInputSerializer",
};
const DEFAULTER = {
  file: "staging/src/k8s.io/apimachinery/pkg/runtime/serializer/versioning/versioning.go",
  func: "codec.Decode",
};

/**
 * Decodes the object in a request's body. Unknown fields become warnings of the response.
 *
 * Mirrors k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go (NegotiateInputSerializer) and the decoding
 * part of create.go and update.go.
 * @throws StatusError 400 or 415
 */
export async function decodeInto(
  exchange: Exchange,
  bytes: Buffer,
  kind: KindOfResource,
  validation: FieldValidation,
): Promise<KubeObject> {
  const { object, warnings, sent } = await decodeBody(
    exchange.request.headers["content-type"],
    bytes,
    kind,
    validation,
  );
  if (validation === "Warn") exchange.warnings.push(...warnings);
  if (mediaTypeOf(exchange.request.headers["content-type"]) !== JSON_TYPE) exchange.bodies?.sent(bytes, object);
  const decoded = withKind(object, kind);
  if (exchange.report !== undefined)
    reportDecoding(exchange, exchange.report, { bytes, kind, warnings, sent, decoded });
  return decoded;
}

/** The part of a resource's row that describes its kind. */
type KindOfResource = KindRef & { readonly resource?: string };

interface Decoded {
  readonly bytes: Buffer;
  readonly kind: KindOfResource;
  readonly warnings: readonly string[];
  readonly sent: unknown;
  readonly decoded: KubeObject;
}

/** Reports the format of the body, and the fields that it did not set. */
function reportDecoding({ request }: Exchange, report: ReportStage, { bytes, kind, warnings, sent, decoded }: Decoded) {
  const { group, version, resource = "" } = kind;
  const what = `decode ${bytes.length} bytes of ${mediaTypeOf(request.headers["content-type"])}`;
  const problems = warnings.length === 0 ? "" : `: ${warnings.join(", ")}`;
  report({ what, why: `a ${kind.kind} of ${groupVersion({ group, version })}${problems}`, upstream: CODEC });
  const changes = changesBetween({ group, version, resource }, sent, decoded).filter(isDefault);
  if (changes.length > 0)
    report({
      what: `fill in the defaults of ${kind.kind}`,
      why: "the body did not set this",
      changes,
      upstream: DEFAULTER,
    });
}

/** Go writes some structs and times though they are empty. */
function isDefault({ value }: Change): boolean {
  return value !== null && !(isRecord(value) && Object.keys(value).length === 0);
}

/**
 * Decodes the options in the body of a DELETE; an empty body means empty options.
 * Mirrors the decoding part of k8s.io/apiserver/pkg/endpoints/handlers/delete.go.
 * @throws StatusError 415, and 500 for a body that is not DeleteOptions
 */
export async function decodeDeleteBody({ request }: Exchange, bytes: Buffer, apiVersion: string): Promise<KubeObject> {
  switch (mediaTypeOf(request.headers["content-type"])) {
    case JSON_TYPE:
      return decodeDeleteOptions(bytes.toString(), apiVersion);
    case YAML_TYPE:
      return decodeDeleteOptions((await convertYaml(bytes)).json, apiVersion);
    case PROTOBUF_TYPE: {
      const { decodeProtobufDeleteOptions } = await import("../../../staging/apimachinery/scheme/protobuf/envelope.js");
      return decodeProtobufDeleteOptions(bytes);
    }
    default:
      throw unsupportedMediaType();
  }
}

/** Adds the kind and apiVersion of the path if the body omits either. */
function withKind(object: KubeObject, { group, version, kind }: KindRef): KubeObject {
  if (object.kind !== undefined && object.apiVersion !== undefined) return object;
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
  return { kind, apiVersion: groupVersion({ group, version }), ...rest };
}

async function decodeBody(
  contentType: string | undefined,
  bytes: Buffer,
  kind: KindRef,
  validation: FieldValidation,
): Promise<DecodedBody> {
  switch (mediaTypeOf(contentType)) {
    case JSON_TYPE:
      return decodeRequestBody(bytes.toString(), kind, validation);
    case YAML_TYPE: {
      const { json, strictErrors } = await convertYaml(bytes);
      return decodeRequestBody(json, kind, validation, strictErrors);
    }
    case PROTOBUF_TYPE: {
      const { decodeProtobufBody } = await import("../../../staging/apimachinery/scheme/protobuf/envelope.js");
      return decodeProtobufBody(bytes, kind);
    }
    default:
      throw unsupportedMediaType();
  }
}

/** A body without a Content-Type is decoded as JSON. */
function mediaTypeOf(contentType: string | undefined): string {
  if (contentType === undefined || contentType === "") return JSON_TYPE;
  return (contentType.split(";")[0] ?? "").trim().toLowerCase();
}

async function convertYaml(bytes: Buffer): Promise<JsonOfYaml> {
  const { fromYaml } = await import("./yaml.js");
  return fromYaml(bytes.toString());
}

function unsupportedMediaType() {
  const text = `the body of the request was in an unknown format - accepted media types include: ${OBJECT_TYPES.join(", ")}`;
  return statusError(415, "UnsupportedMediaType", text);
}

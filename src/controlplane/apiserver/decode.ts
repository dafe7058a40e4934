import type { KubeObject } from "../../apimachinery/api/meta.js";
import { statusError } from "../../apimachinery/errors.js";
import { decodeDeleteOptions, decodeRequestBody } from "../../apimachinery/scheme/request.js";
import type { DecodedBody, FieldValidation, KindRef } from "../../apimachinery/scheme/schema.js";
import type { Exchange } from "./exchange.js";
import { JSON_TYPE, OBJECT_TYPES, PROTOBUF_TYPE, YAML_TYPE } from "./media-types.js";
import { groupVersionName } from "./routes.js";
import type { Converted } from "./yaml.js";

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
  kind: KindRef,
  validation: FieldValidation,
): Promise<KubeObject> {
  const { object, warnings } = await decodeBody(exchange.request.headers["content-type"], bytes, kind, validation);
  if (validation === "Warn") exchange.warnings.push(...warnings);
  if (mediaTypeOf(exchange.request.headers["content-type"]) !== JSON_TYPE) exchange.bodies?.sent(bytes, object);
  return withKind(object, kind);
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
      const { decodeProtobufDeleteOptions } = await import("../../apimachinery/scheme/protobuf/envelope.js");
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
  return { kind, apiVersion: groupVersionName(group, version), ...rest };
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
      const { decodeProtobufBody } = await import("../../apimachinery/scheme/protobuf/envelope.js");
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

async function convertYaml(bytes: Buffer): Promise<Converted> {
  const { fromYaml } = await import("./yaml.js");
  return fromYaml(bytes.toString());
}

function unsupportedMediaType() {
  const text = `the body of the request was in an unknown format - accepted media types include: ${OBJECT_TYPES.join(", ")}`;
  return statusError(415, "UnsupportedMediaType", text);
}

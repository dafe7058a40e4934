/**
 * Negotiates the media type of a response from the Accept header.
 *
 * Mirrors two layers of upstream with different rules: go-restful, which compares whole media types before the handler
 * runs (it does not understand `application/*`), and k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go
 * (NegotiateMediaTypeOptions), which understands `as=Table` and quality values.
 * Differs: clients that accept both protobuf and JSON get JSON, regardless of the order; watches are always JSON.
 */
import { type StatusError, statusError } from "../../../staging/apimachinery/errors.js";

export const JSON_TYPE = "application/json";
export const YAML_TYPE = "application/yaml";
export const PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf";

/** The form in which an object is returned. */
export type Transform = "" | "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";

export interface Representation {
  readonly mediaType: typeof JSON_TYPE | typeof YAML_TYPE | typeof PROTOBUF_TYPE;
  readonly as: Transform;
  /** `v1` or `v1beta1` of meta.k8s.io, for `as` */
  readonly asVersion: string;
  readonly pretty: boolean;
}

interface Clause {
  readonly type: string;
  readonly subtype: string;
  readonly params: ReadonlyMap<string, string>;
  readonly quality: number;
}

export const OBJECT_TYPES = [JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE];
const WATCH_TYPES = [`${JSON_TYPE};stream=watch`, `${PROTOBUF_TYPE};stream=watch`];
export const LIST_TYPES = [...OBJECT_TYPES, ...WATCH_TYPES];

/** go-restful's check, before a handler runs. @throws StatusError 406 */
export function requireAcceptable(accept: string | undefined, produces: readonly string[]): void {
  if (accept === undefined || accept === "" || accept === "*/*" || accept === JSON_TYPE) return;
  for (const clause of accept.split(",")) {
    const semicolon = clause.indexOf(";");
    const mediaType = (semicolon < 0 ? clause : clause.slice(0, semicolon)).trim();
    if (mediaType === "*/*" || produces.includes(mediaType)) return;
  }
  throw statusError(
    406,
    "NotAcceptable",
    `406: Not Acceptable\n\nAvailable representations: ${produces.join(", ")}`,
    {},
  );
}

/** What is returned. A `review` has no table: upstream's storage for it has no TableConvertor. */
type Returned = "object" | "watch" | "review";

/** The handler's own check. @throws StatusError 406 */
export function negotiate(accept: string | undefined, kind: Returned): Representation {
  const found = negotiateOrUndefined(accept, kind);
  if (found !== undefined) return found;
  throw notAcceptable(kind === "watch" ? WATCH_TYPES : OBJECT_TYPES);
}

function notAcceptable(types: readonly string[]): StatusError {
  return statusError(406, "NotAcceptable", `only the following media types are accepted: ${types.join(", ")}`);
}

const PLAIN: Representation = { mediaType: JSON_TYPE, as: "", asVersion: "v1", pretty: false };

/** Parsed Accept headers by text: kubectl and the clients of one process repeat the same few. */
const known = new Map<string, Representation | undefined>();
const MAX_KNOWN = 64;

/** Like `negotiate`, for errors: falls back to plain JSON when nothing matches. */
export function negotiateForError(accept: string | undefined): Representation {
  if (accept === undefined || accept === JSON_TYPE) return PLAIN;
  const plain = parseAccept(accept).filter((clause) => clause.params.get("as") === undefined);
  const mediaTypes = plain.flatMap((clause) => mediaTypeOf(clause) ?? []);
  return { ...PLAIN, mediaType: mediaTypes.find((type) => type !== PROTOBUF_TYPE) ?? mediaTypes[0] ?? JSON_TYPE };
}

function negotiateOrUndefined(accept: string | undefined, kind: Returned): Representation | undefined {
  if (accept === undefined || accept === "" || accept === JSON_TYPE) return PLAIN;
  const key = kind === "object" ? accept : `${kind} ${accept}`;
  if (known.has(key)) return known.get(key);
  const acceptable = parseAccept(accept).flatMap((clause) => representation(clause, kind) ?? []);
  const found = acceptable.find(({ mediaType }) => mediaType !== PROTOBUF_TYPE) ?? acceptable[0];
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, found);
  return found;
}

function representation(clause: Clause, kind: Returned): Representation | undefined {
  const mediaType = mediaTypeOf(clause);
  if (mediaType === undefined || (kind === "watch" && mediaType === YAML_TYPE)) return undefined;
  const pretty = clause.params.get("pretty") === "1";
  const as = clause.params.get("as");
  if (as === undefined) return { ...PLAIN, mediaType: kind === "watch" ? JSON_TYPE : mediaType, pretty };
  const version = clause.params.get("v") ?? "";
  if (clause.params.get("g") !== "meta.k8s.io" || (version !== "v1" && version !== "v1beta1")) return undefined;
  if (as === "Table" && (mediaType === PROTOBUF_TYPE || kind === "review")) return undefined;
  if (as !== "Table" && as !== "PartialObjectMetadata" && as !== "PartialObjectMetadataList") return undefined;
  return { mediaType, as, asVersion: version, pretty };
}

function mediaTypeOf({ type, subtype }: Clause): Representation["mediaType"] | undefined {
  if (type === "*" && subtype === "*") return JSON_TYPE;
  if (type !== "application") return undefined;
  if (subtype === "json" || subtype === "*") return JSON_TYPE;
  if (subtype === "vnd.kubernetes.protobuf") return PROTOBUF_TYPE;
  return subtype === "yaml" ? YAML_TYPE : undefined;
}

/** Clauses by descending quality, otherwise in the order sent. Mirrors goautoneg's ParseAccept. */
function parseAccept(header: string): Clause[] {
  const clauses: Clause[] = [];
  for (const part of header.split(",")) {
    const [range = "", ...rawParams] = part.split(";");
    const [type = "", subtype = ""] = range.trim().toLowerCase().split("/");
    if (type === "") continue;
    const params = new Map<string, string>();
    for (const raw of rawParams) {
      const equals = raw.indexOf("=");
      if (equals > 0) params.set(raw.slice(0, equals).trim(), raw.slice(equals + 1).trim());
    }
    const quality = Number.parseFloat(params.get("q") ?? "1");
    clauses.push({ type, subtype, params, quality: Number.isNaN(quality) ? 1 : quality });
  }
  return clauses.sort((a, b) => b.quality - a.quality);
}

/**
 * Reports whether JSON is indented: on request, or for browsers, curl and wget.
 * Mirrors k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go (isPrettyPrint).
 */
export function isPretty(query: URLSearchParams, userAgent: string | undefined): boolean {
  const asked = query.size === 0 ? null : query.get("pretty");
  if (asked !== null && asked !== "") return ["1", "t", "T", "true", "TRUE", "True"].includes(asked);
  if (userAgent === undefined) return false;
  return userAgent.startsWith("curl") || userAgent.startsWith("Wget") || userAgent.startsWith("Mozilla/5.0");
}

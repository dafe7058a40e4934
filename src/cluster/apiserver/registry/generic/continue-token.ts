import { badRequest } from "../../../../staging/apimachinery/errors.js";

/**
 * Where a chunked list continues. Mirrors k8s.io/apiserver/pkg/storage/continue.go (EncodeContinue, DecodeContinue).
 * The token contains the last key, relative to the list's prefix, plus a NUL: the smallest key greater than it.
 */
export interface ContinuePoint {
  readonly afterKey: string;
  /** list at this revision; undefined: at the newest one, inconsistent with earlier chunks */
  readonly revision: number | undefined;
}

const VERSION = "meta.k8s.io/v1";
const LATEST = -1;

export function encodeContinue(prefix: string, { afterKey, revision }: ContinuePoint): string {
  const start = `${afterKey.slice(prefix.length)}\0`;
  return Buffer.from(JSON.stringify({ v: VERSION, rv: revision ?? LATEST, start })).toString("base64url");
}

/** @throws StatusError 400 */
export function decodeContinue(prefix: string, token: string): ContinuePoint {
  const illegal = token.search(/[^A-Za-z0-9_-]/);
  if (illegal >= 0) notValid(`illegal base64 data at input byte ${illegal}`);
  if (token.length % 4 === 1) notValid(`illegal base64 data at input byte ${token.length}`);
  const { v, rv, start } = parse(Buffer.from(token, "base64url"));
  if (v !== VERSION) notValid(`server does not recognize this encoded version ${JSON.stringify(v ?? "")}`);
  if (typeof rv !== "number" || rv === 0) notValid(`incorrect encoded start resourceVersion (version ${VERSION})`);
  if (typeof start !== "string" || start === "") notValid(`encoded start key empty (version ${VERSION})`);
  if (start.split("/").some((part) => part === "." || part === ".." || part === "")) notValid(start);
  const afterKey = prefix + (start.endsWith("\0") ? start.slice(0, -1) : start);
  return { afterKey, revision: rv < 0 ? undefined : rv };
}

function parse(bytes: Buffer): { readonly v?: unknown; readonly rv?: unknown; readonly start?: unknown } {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Mimics Go's parser, which names the first byte that cannot begin a value.
    const first = bytes.find((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d);
    if (first === undefined || '{["tfn-0123456789'.includes(String.fromCharCode(first))) {
      return notValid("unexpected end of JSON input");
    }
    return notValid(`invalid character '${String.fromCharCode(first)}' looking for beginning of value`);
  }
  return notValid("json: cannot unmarshal into Go value of type storage.continueToken");
}

function notValid(why: string): never {
  throw badRequest(`invalid continue token: continue key is not valid: ${why}`);
}

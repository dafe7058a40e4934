import { isRecord } from "../util/records.js";

/**
 * Masks secrets before an event is made, so a trace never holds a token's secret half, a private key or the values of a
 * Secret.
 */

const MASK = "****";
/**
 * Bootstrap tokens. The public ID half stays, because it names the Secret. The pattern excludes longer words such as
 * host names.
 */
const BOOTSTRAP_TOKEN = /\b([a-z0-9]{6})\.[a-z0-9]{16}\b/g;
const PRIVATE_KEY = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?-----END \1-----/g;
const BASE64_PRIVATE_KEY = /LS0tLS1CRUdJTiB[A-Za-z0-9+/=]*/g;
const BEARER = /\b(Bearer\s+)[A-Za-z0-9._~+/=-]+/gi;
const JWT = /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+/g;

/** Masks secrets inside a text. */
export function redactText(text: string): string {
  return text
    .replace(BOOTSTRAP_TOKEN, `$1.${MASK}`)
    .replace(PRIVATE_KEY, `-----BEGIN $1-----${MASK}-----END $1-----`)
    .replace(BASE64_PRIVATE_KEY, redactBase64Pem)
    .replace(JWT, MASK)
    .replace(BEARER, `$1${MASK}`);
}

/** Certificates and requests in base64 stay readable; only keys are masked. */
function redactBase64Pem(base64: string): string {
  return Buffer.from(base64, "base64").toString("latin1").includes("PRIVATE KEY") ? MASK : base64;
}

/** Keys of API objects and kubeconfigs whose string values are secret at any depth. */
const SECRET_KEYS = new Set(["token", "token-secret", "password", "client-key-data", "clientKeyPem", "kubelet.key"]);

/**
 * A copy of a request or response body without secrets. All values of `data` and `stringData` of Secrets are masked.
 */
export function redactBody(value: unknown): unknown {
  return redactValue(value, isSecretObject(value));
}

function isSecretObject(value: unknown): boolean {
  return isRecord(value) && (value["kind"] === "Secret" || value["kind"] === "SecretList");
}

function redactValue(value: unknown, insideSecret: boolean): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, insideSecret || isSecretObject(item)));
  if (!isRecord(value)) return value;
  const out: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (insideSecret && (key === "data" || key === "stringData") && isRecord(item)) {
      out[key] = Object.fromEntries(Object.keys(item).map((name) => [name, MASK]));
    } else if (SECRET_KEYS.has(key) && typeof item === "string") {
      out[key] = redactText(item) === item ? MASK : redactText(item);
    } else {
      out[key] = redactValue(item, insideSecret || isSecretObject(item));
    }
  }
  return out;
}

import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import type { KubeObject } from "../apimachinery/api/meta.js";
import type { BootstrapToken } from "./token.js";

/** Mirrors k8s.io/cluster-bootstrap/token/api/types.go. */
export const TOKEN_NAMESPACE = "kube-system";
export const TOKEN_SECRET_TYPE = "bootstrap.kubernetes.io/token";
/** kubeadm's group; its bindings give the rights to create CSRs and to have them approved. */
export const DEFAULT_NODE_TOKEN_GROUP = "system:bootstrappers:kubeadm:default-node-token";
export const SECRETS_PATH = `/api/v1/namespaces/${TOKEN_NAMESPACE}/secrets`;
/** Mirrors BootstrapGroupPattern. */
export const GROUP_PATTERN = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export const TOKEN_USAGES = ["authentication", "signing"] as const;
export type TokenUsage = (typeof TOKEN_USAGES)[number];

/** A value of the Secret, decoded; "" when it is missing. Mirrors GetData in token/util/secrets. */
export function tokenField(secret: KubeObject, key: string): string {
  const value = ((secret["data"] ?? {}) as Readonly<Record<string, unknown>>)[key];
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : "";
}

/**
 * When the token expires. Mirrors GetExpiration in k8s.io/cluster-bootstrap/token/util/secrets.
 * @returns Unix ms; undefined: never; NaN for text that is not an RFC 3339 time
 */
export function expirationMs(secret: KubeObject): number | undefined {
  const text = tokenField(secret, "expiration");
  if (text === "") return undefined;
  return RFC3339.test(text) ? Date.parse(text) : Number.NaN;
}

/** The documented fields of a bootstrap token Secret. */
export interface TokenSettings {
  readonly token: BootstrapToken;
  readonly description?: string;
  /** RFC 3339 in UTC; absent: it never expires */
  readonly expiration?: string;
  readonly usages: readonly TokenUsage[];
  readonly groups: readonly string[];
}

/** `bootstrap-token-<id>`: the authenticator finds the Secret by this name. */
export function tokenSecretName(tokenId: string): string {
  return `bootstrap-token-${tokenId}`;
}

/** Mirrors cmd/kubeadm/app/apis/bootstraptoken/v1/utils.go (BootstrapTokenToSecret). */
export function tokenSecret(settings: TokenSettings): KubeObject {
  const fields: Record<string, string> = {
    "token-id": settings.token.id,
    "token-secret": settings.token.secret,
    ...defined({ description: settings.description, expiration: settings.expiration }),
    ...Object.fromEntries(settings.usages.map((usage) => [`usage-bootstrap-${usage}`, "true"])),
    ...(settings.groups.length === 0 ? {} : { "auth-extra-groups": settings.groups.join(",") }),
  };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: tokenSecretName(settings.token.id), namespace: TOKEN_NAMESPACE },
    type: TOKEN_SECRET_TYPE,
    data: Object.fromEntries(Object.entries(fields).map(([key, text]) => [key, Buffer.from(text).toString("base64")])),
  };
}

/** A token as shown in a list: without its secret half. */
export interface TokenSummary {
  readonly id: string;
  /** whole seconds; undefined: it never expires; negative: it has expired */
  readonly ttlSeconds: number | undefined;
  readonly expiration: string | undefined;
  readonly usages: readonly string[];
  readonly groups: readonly string[];
  readonly description: string | undefined;
  /** why the API server does not accept this token */
  readonly invalid: string | undefined;
}

/** Reads a Secret back. Mirrors cmd/kubeadm/app/apis/bootstraptoken/v1/utils.go (BootstrapTokenFromSecret). */
export function summarizeToken(secret: KubeObject, nowMs: number): TokenSummary {
  const field = (key: string) => tokenField(secret, key);
  const id = field("token-id");
  const expiresMs = expirationMs(secret);
  const groups = field("auth-extra-groups")
    .split(",")
    .filter((group) => group !== "");
  const usages = Object.keys(secret["data"] ?? {})
    .filter((key) => key.startsWith("usage-bootstrap-") && field(key) === "true")
    .map((key) => key.slice("usage-bootstrap-".length));
  return {
    id,
    ttlSeconds: expiresMs === undefined ? undefined : Math.floor((expiresMs - nowMs) / 1000),
    expiration: field("expiration") || undefined,
    usages,
    groups,
    description: field("description") || undefined,
    invalid: whyInvalid(secret, id, expiresMs, groups),
  };
}

function whyInvalid(
  secret: KubeObject,
  id: string,
  expiresMs: number | undefined,
  groups: readonly string[],
): string | undefined {
  if (secret.metadata.name !== tokenSecretName(id)) return "its token-id differs from the one in its name";
  if (tokenField(secret, "token-secret") === "") return "token-secret is missing";
  if (expiresMs !== undefined && Number.isNaN(expiresMs)) return "its expiration is not an RFC 3339 time";
  const foreign = groups.find((group) => !GROUP_PATTERN.test(group));
  return foreign === undefined ? undefined : `group ${foreign} does not begin with system:bootstrappers:`;
}

/** Parses `authentication,signing`. @throws LabError USAGE */
export function parseUsages(text: string): TokenUsage[] {
  return text.split(",").map((word) => {
    const usage = TOKEN_USAGES.find((one) => one === word.trim());
    if (usage !== undefined) return usage;
    const hint = `The usages are ${TOKEN_USAGES.join(" and ")}.`;
    throw new LabError("USAGE", `--usages: ${JSON.stringify(word)} is not a usage`, hint);
  });
}

/** Parses groups that are separated by commas. @throws LabError USAGE */
export function parseGroups(text: string): string[] {
  const words = text.split(",").map((word) => word.trim());
  return words.filter((word) => word !== "").map(checkGroup);
}

/** @throws LabError USAGE for a group that the API server would not accept: the whole token would be invalid */
export function checkGroup(group: string): string {
  if (GROUP_PATTERN.test(group)) return group;
  throw new LabError(
    "USAGE",
    `group ${JSON.stringify(group)} cannot be given to a bootstrap token`,
    "Use system:bootstrappers: followed by a-z, 0-9, ':' or '-', ending in a letter or digit.",
  );
}

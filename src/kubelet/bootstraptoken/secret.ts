import type { KubeObject } from "../../apimachinery/api/meta.js";
import { LabError } from "../../util/errors.js";
import type { BootstrapToken } from "./token.js";

const TOKEN_NAMESPACE = "kube-system";
export const TOKEN_SECRET_TYPE = "bootstrap.kubernetes.io/token";
/** kubeadm's group; its bindings give the rights to create CSRs and to have them approved. */
export const DEFAULT_NODE_TOKEN_GROUP = "system:bootstrappers:kubeadm:default-node-token";
export const SECRETS_PATH = `/api/v1/namespaces/${TOKEN_NAMESPACE}/secrets`;
/** Mirrors k8s.io/cluster-bootstrap/token/api (BootstrapGroupPattern). */
const GROUP_PATTERN = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export const TOKEN_USAGES = ["authentication", "signing"] as const;
export type TokenUsage = (typeof TOKEN_USAGES)[number];

/** Everything that the documented keys of a bootstrap token Secret say. */
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
    ...(settings.description === undefined ? {} : { description: settings.description }),
    ...(settings.expiration === undefined ? {} : { expiration: settings.expiration }),
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

/** A token as a list shows it: without its secret half. */
export interface TokenSummary {
  readonly id: string;
  /** whole seconds; undefined: it never expires; negative: it has expired */
  readonly ttlSeconds: number | undefined;
  readonly expiration: string | undefined;
  readonly usages: readonly string[];
  readonly groups: readonly string[];
  readonly description: string | undefined;
  /** why the API server does not take this token, in words */
  readonly invalid: string | undefined;
}

/** Reads a Secret back. Mirrors cmd/kubeadm/app/apis/bootstraptoken/v1/utils.go (BootstrapTokenFromSecret). */
export function summarizeToken(secret: KubeObject, nowMs: number): TokenSummary {
  const encoded = (secret["data"] ?? {}) as Readonly<Record<string, string>>;
  const field = (key: string) => {
    const value = encoded[key];
    return value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");
  };
  const id = field("token-id") ?? "";
  const expiration = field("expiration");
  const expiresMs = expiration === undefined ? undefined : Date.parse(expiration);
  const groups = (field("auth-extra-groups") ?? "").split(",").filter((group) => group !== "");
  const usages = Object.keys(encoded)
    .filter((key) => key.startsWith("usage-bootstrap-") && field(key) === "true")
    .map((key) => key.slice("usage-bootstrap-".length));
  return {
    id,
    ttlSeconds: expiresMs === undefined ? undefined : Math.floor((expiresMs - nowMs) / 1000),
    expiration,
    usages,
    groups,
    description: field("description"),
    invalid: whyInvalid(secret, id, expiresMs, groups, field("token-secret")),
  };
}

function whyInvalid(
  secret: KubeObject,
  id: string,
  expiresMs: number | undefined,
  groups: readonly string[],
  tokenSecretHalf: string | undefined,
): string | undefined {
  if (secret.metadata.name !== tokenSecretName(id)) return "its token-id is not the one in its name";
  if (tokenSecretHalf === undefined) return "token-secret is missing";
  if (expiresMs !== undefined && Number.isNaN(expiresMs)) return "its expiration is no RFC 3339 time";
  const foreign = groups.find((group) => !GROUP_PATTERN.test(group));
  return foreign === undefined ? undefined : `group ${foreign} is not below system:bootstrappers:`;
}

/** @throws LabError USAGE for a group that the API server would not accept: the whole token would be invalid */
export function checkGroup(group: string): string {
  if (GROUP_PATTERN.test(group)) return group;
  throw new LabError(
    "USAGE",
    `group ${JSON.stringify(group)} cannot be given to a bootstrap token`,
    "Its name must begin with system:bootstrappers: and go on with a-z, 0-9, ':' or '-', ending in a letter or digit.",
  );
}

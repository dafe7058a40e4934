/**
 * Where secrets are: the one table of kinds, field paths, CRI fields and argument names. The other files of redaction read it.
 */

/** Annotations in which clients keep a whole object as JSON. */
export const OBJECT_ANNOTATIONS: ReadonlySet<string> = new Set(["kubectl.kubernetes.io/last-applied-configuration"]);

/** Paths of secret fields by kind. `*` matches any key or index; everything below a path is secret. */
export const SECRET_FIELDS: Readonly<Record<string, readonly string[]>> = {
  Secret: ["data.*", "stringData.*"],
  TokenRequest: ["status.token"],
  TokenReview: ["spec.token"],
  ExecCredential: ["status.token", "status.clientKeyData"],
  /** a kubeconfig */
  Config: [
    "users.*.user.token",
    "users.*.user.password",
    "users.*.user.client-key-data",
    "users.*.user.auth-provider.config.*",
    "users.*.user.exec.env.*.value",
  ],
};

/** The fields of a Secret that stay readable; the values of all others are hidden. */
export const FIELDS_OF_SECRETS: ReadonlySet<string> = new Set([
  "apiVersion",
  "kind",
  "metadata",
  "type",
  "immutable",
  "data",
  "stringData",
]);

/** Keys whose string values are secret in any object, in addition to secret names (`isSecretName`). */
export const SECRET_KEYS: ReadonlySet<string> = new Set([
  "client-key-data",
  "clientKeyData",
  "clientKeyPem",
  "kubelet.key",
  ".dockerconfigjson",
  ".dockercfg",
]);

/** Entries of a Secret, by its type, that are secret. Other types: all entries except `PUBLIC_ENTRIES`. */
export const SECRET_ENTRIES: Readonly<Record<string, readonly string[]>> = {
  "bootstrap.kubernetes.io/token": ["token-secret"],
  "kubernetes.io/service-account-token": ["token"],
  "kubernetes.io/basic-auth": ["password"],
  "kubernetes.io/tls": ["tls.key"],
};

/** Entries that are masked in a Secret, but are not secret elsewhere. */
export const PUBLIC_ENTRIES: ReadonlySet<string> = new Set(["ca.crt", "tls.crt", "namespace", "username"]);

/** The kind of the body of requests whose path ends like this; a patch does not contain it. */
export const KINDS_BY_PATH: readonly (readonly [RegExp, string])[] = [
  [/^\/api\/v1\/(?:watch\/)?(?:namespaces\/[^/?]+\/)?secrets(?:[/?]|$)/, "Secret"],
  [/^\/api\/v1\/namespaces\/[^/?]+\/serviceaccounts\/[^/?]+\/token(?:\?|$)/, "TokenRequest"],
  [/^\/apis\/authentication\.k8s\.io\/v1[^/]*\/tokenreviews(?:\?|$)/, "TokenReview"],
];

/**
 * CRI fields that can contain secrets, as `Message.field`. Values of environment variables; credentials; the verbose
 * `info`, in which runtimes repeat the whole environment; URLs of streams, which grant access to anyone who has them.
 */
export const SECRET_CRI_FIELDS: ReadonlySet<string> = new Set([
  "KeyValue.value",
  "ContainerAllocateResponse.envs",
  "AuthConfig.password",
  "AuthConfig.auth",
  "AuthConfig.identityToken",
  "AuthConfig.registryToken",
  "WindowsContainerSecurityContext.credentialSpec",
  "WindowsSandboxSecurityContext.credentialSpec",
  "PodSandboxStatusResponse.info",
  "ContainerStatusResponse.info",
  "ImageStatusResponse.info",
  "StatusResponse.info",
  "ExecResponse.url",
  "AttachResponse.url",
  "PortForwardResponse.url",
]);

/** CRI fields that are command lines. */
export const CRI_ARGUMENTS: ReadonlySet<string> = new Set([
  "ContainerConfig.command",
  "ContainerConfig.args",
  "ExecSyncRequest.cmd",
  "ExecRequest.cmd",
]);

/** How the name of a flag, variable or key with a secret value ends: `--bootstrap-token`, `DB_PASSWORD`. */
export const SECRET_NAME_ENDING = "(?:token|password|passwd|secret|api[_-]?key|access[_-]?key|private[_-]?key)";

const SECRET_NAME = new RegExp(`${SECRET_NAME_ENDING}$`, "i");

/** Whether a value with this name is secret: the one rule for flags, variables, headers and keys, in texts and in objects. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

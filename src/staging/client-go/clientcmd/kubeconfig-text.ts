import type { RestConfig } from "../rest/client.js";

export interface KubeconfigNames {
  readonly cluster: string;
  readonly user: string;
  readonly context: string;
}

/** Files that the kubeconfig names instead of holding the credentials; relative to the kubeconfig's folder. */
export interface CredentialFiles {
  readonly clientCertificate: string;
  readonly clientKey: string;
}

/**
 * Writes a kubeconfig with one context as YAML, without a YAML library: JSON strings are YAML.
 *
 * Mirrors k8s.io/client-go/tools/clientcmd (WriteToFile).
 */
export function kubeconfigText(config: RestConfig, names: KubeconfigNames, files?: CredentialFiles): string {
  const cluster: [string, string | boolean | undefined][] = [
    ["server", config.server],
    ["certificate-authority-data", base64(config.caPem)],
    ["tls-server-name", config.tlsServerName],
    ["insecure-skip-tls-verify", config.insecureSkipTlsVerify === true ? true : undefined],
  ];
  const user: [string, string | boolean | undefined][] =
    files === undefined
      ? [
          ["client-certificate-data", base64(config.clientCertificatePem)],
          ["client-key-data", base64(config.clientKeyPem)],
          ["token", config.token],
        ]
      : [
          ["client-certificate", files.clientCertificate],
          ["client-key", files.clientKey],
        ];
  return [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    `- name: ${scalar(names.cluster)}`,
    ...block("cluster", cluster),
    "users:",
    `- name: ${scalar(names.user)}`,
    ...block("user", user),
    "contexts:",
    `- name: ${scalar(names.context)}`,
    ...block("context", [
      ["cluster", names.cluster],
      ["user", names.user],
      ["namespace", "default"],
    ]),
    `current-context: ${scalar(names.context)}`,
    "preferences: {}",
    "",
  ].join("\n");
}

function block(key: string, fields: readonly [string, string | boolean | undefined][]): string[] {
  const lines = fields
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `    ${name}: ${scalar(value)}`);
  return lines.length === 0 ? [`  ${key}: {}`] : [`  ${key}:`, ...lines];
}

/** Plain where YAML cannot misread it, otherwise in JSON's quotes. */
function scalar(value: string | boolean | undefined): string {
  if (typeof value !== "string") return String(value);
  const isPlain =
    /^[A-Za-z/][A-Za-z0-9+/=._:@-]*$/.test(value) &&
    !value.endsWith(":") &&
    !/^(true|false|yes|no|null|on|off|y|n)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}

function base64(text: string | undefined): string | undefined {
  return text === undefined ? undefined : Buffer.from(text).toString("base64");
}

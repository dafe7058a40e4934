import { type SpawnOptions, spawn } from "node:child_process";
import type { Agent, RequestOptions } from "node:https";
import { type ConnectionOptions, checkServerIdentity } from "node:tls";
import type { Cluster, KubeConfig, User } from "@kubernetes/client-node";
import { redactText } from "../../../trace/redaction/redact-text.js";
import { LabError } from "../../../util/errors.js";
import type { RestConfig } from "../rest/client.js";
import { damaged, type NamedEntry } from "./document.js";

/** A context's cluster and user, both as client-node reads them and as they are in the file. */
export interface ChosenContext {
  readonly cluster: Cluster;
  readonly user: User | undefined;
  readonly clusterEntry: NamedEntry | undefined;
  /** of the kubeconfig, for error messages */
  readonly path: string;
}

/** The fields of an exec plugin that are used here. Mirrors clientcmd/api/v1 (ExecConfig). */
interface ExecConfig {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: string;
}

const AUTH_PROVIDERS: ReadonlySet<unknown> = new Set(["azure", "gcp", "oidc"]);

/** True when client-node must run an exec plugin or an auth provider for the user, or connect through a proxy. */
export function needsLogin({ cluster, user }: ChosenContext): boolean {
  return Boolean(user?.exec ?? user?.authProvider ?? cluster.proxyUrl);
}

/**
 * Lets client-node's KubeConfig run the user's exec plugin or auth provider, and create the agent for the cluster's proxy.
 *
 * Mirrors k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go.
 * Differs: a client certificate is requested once; a token is requested again when it has expired, and for each request
 * when it has no expiry. A plugin gets no terminal.
 * @throws LabError BAD_FILE when the plugin or provider fails or is not supported
 */
export async function withLogin(config: RestConfig, chosen: ChosenContext): Promise<RestConfig> {
  const kubeConfig = await newKubeConfig();
  const exec = execOf(config, chosen);
  const authProvider = authProviderOf(chosen);
  const proxyUrl = proxyUrlOf(chosen);
  kubeConfig.loadFromClusterAndUser(
    { ...clusterOf(config), ...(proxyUrl === undefined ? {} : { proxyUrl }) },
    { ...credentialsOf(config), name: chosen.user?.name ?? "", exec, authProvider },
  );
  const first = await apply(kubeConfig, chosen);
  const { cert, key, agent } = first;
  const hasPair = isText(cert) && isText(key);
  const hasToken = authorizationOf(first) !== undefined;
  if ((exec ?? authProvider) !== undefined && !hasPair && !hasToken) {
    throw damaged(chosen.path, `${loginText(chosen)}, which returned neither a token nor a client certificate`);
  }
  return {
    ...config,
    ...(hasPair ? { clientCertificatePem: String(cert), clientKeyPem: String(key) } : {}),
    ...(proxyUrl === undefined ? {} : { proxyAgent: verifying(agent as Agent, config) }),
    ...(hasToken
      ? {
          authorize: async (headers) => {
            const authorization = authorizationOf(await apply(kubeConfig, chosen));
            if (authorization !== undefined) headers["Authorization"] = authorization;
          },
        }
      : {}),
  };
}

/** Names the server to verify: the SOCKS agent forgets an IP address and would verify the name "localhost". */
function verifying(agent: Agent, { server, tlsServerName }: RestConfig): Agent {
  const name = tlsServerName ?? new URL(server).hostname.replace(/^\[|\]$/g, "");
  const identity: ConnectionOptions = { checkServerIdentity: (_host, cert) => checkServerIdentity(name, cert) };
  Object.assign(agent.options, identity);
  return agent;
}

const base64 = (pem: string) => Buffer.from(pem).toString("base64");

function clusterOf({ server, caPem, tlsServerName, insecureSkipTlsVerify = false }: RestConfig): Cluster {
  return {
    name: "",
    server,
    skipTLSVerify: insecureSkipTlsVerify,
    ...(caPem === undefined ? {} : { caData: base64(caPem) }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
  };
}

function credentialsOf({ clientCertificatePem, clientKeyPem }: RestConfig): Partial<User> {
  if (clientCertificatePem === undefined || clientKeyPem === undefined) return {};
  return { certData: base64(clientCertificatePem), keyData: base64(clientKeyPem) };
}

/** A plugin's standard input is empty, as with kubectl outside a terminal. client-node would leave it open forever. */
async function newKubeConfig(): Promise<KubeConfig> {
  const [{ KubeConfig }, { ExecAuth }] = await Promise.all([
    import("@kubernetes/client-node/dist/config.js"),
    import("@kubernetes/client-node/dist/exec_auth.js"),
  ]);
  const kubeConfig = new KubeConfig();
  const run = (command: string, args: readonly string[], options: SpawnOptions) =>
    spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  for (const authenticator of kubeConfig["authenticators"]) {
    if (authenticator instanceof ExecAuth) authenticator["execFn"] = run;
  }
  return kubeConfig;
}

async function apply(kubeConfig: KubeConfig, chosen: ChosenContext): Promise<RequestOptions> {
  const options: RequestOptions = { headers: {} };
  try {
    await kubeConfig.applyToHTTPSOptions(options);
    return options;
  } catch (error) {
    throw loginError(error, chosen);
  }
}

/**
 * The exec plugin with the environment variable that client-node does not set.
 * Mirrors LoadExecCredential's counterpart in exec.go (refreshCredsLocked): KUBERNETES_EXEC_INFO.
 */
function execOf(config: RestConfig, chosen: ChosenContext): ExecConfig | undefined {
  const exec = chosen.user?.exec as ExecConfig | null | undefined;
  if (exec === null || exec === undefined) return undefined;
  if (exec.interactiveMode === "Always") {
    throw damaged(chosen.path, `${loginText(chosen)}, which needs a terminal (interactiveMode: Always): not supported`);
  }
  const cluster = exec.provideClusterInfo === true ? { cluster: clusterInfo(config, chosen) } : {};
  const info = { apiVersion: exec.apiVersion, kind: "ExecCredential", spec: { ...cluster, interactive: false } };
  const entry = { name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(info) };
  return { ...exec, env: [...(exec.env ?? []), entry] };
}

const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

/** Mirrors k8s.io/client-go/tools/auth/exec and rest/exec.go (ConfigToExecCluster). */
function clusterInfo(config: RestConfig, { cluster, clusterEntry }: ChosenContext): object {
  const { extensions } = (clusterEntry?.fields ?? {}) as { extensions?: { name?: unknown; extension?: unknown }[] };
  const own = Array.isArray(extensions) ? extensions.find((one) => one.name === EXEC_EXTENSION) : undefined;
  return {
    server: config.server,
    "tls-server-name": config.tlsServerName,
    "insecure-skip-tls-verify": config.insecureSkipTlsVerify,
    "certificate-authority-data": config.caPem === undefined ? undefined : base64(config.caPem),
    "proxy-url": cluster.proxyUrl,
    config: own?.extension,
  };
}

function authProviderOf(chosen: ChosenContext): unknown {
  const provider: { readonly name?: unknown } | undefined = chosen.user?.authProvider ?? undefined;
  if (provider === undefined || AUTH_PROVIDERS.has(provider.name)) return provider;
  throw damaged(chosen.path, `${loginText(chosen)}, which is not supported`);
}

/** The URL may hold a password, so no error shows it. */
function proxyUrlOf({ cluster, path }: ChosenContext): string | undefined {
  const { name, proxyUrl } = cluster;
  if (proxyUrl === undefined || (URL.canParse(proxyUrl) && /^(https?|socks5):$/.test(new URL(proxyUrl).protocol)))
    return proxyUrl;
  throw damaged(path, `has a proxy-url in cluster "${name}" that is not an http, https or socks5 URL`);
}

function loginText({ user }: ChosenContext): string {
  const kind = user?.exec ? `exec plugin "${user.exec.command}"` : `auth-provider "${user?.authProvider?.name}"`;
  return `has user "${user?.name}" with the ${kind}`;
}

/** client-node's error without what the plugin printed on stdout, which may be a credential. */
function loginError(error: unknown, chosen: ChosenContext): LabError {
  const { user, path } = chosen;
  const { message, code } = error as NodeJS.ErrnoException;
  const text = `kubeconfig ${path} ${loginText(chosen)}`;
  const exec: ExecConfig | undefined = user?.exec ?? undefined;
  if (exec !== undefined && (code === "ENOENT" || code === "EACCES")) {
    const why = code === "ENOENT" ? "was not found" : "is not executable";
    const hint = exec.installHint ?? "Install the plugin, or correct its command in the kubeconfig.";
    return new LabError("BAD_FILE", `${text}, which ${why}`, hint);
  }
  const why =
    error instanceof SyntaxError || error instanceof TypeError
      ? "printed no ExecCredential"
      : `failed: ${redactText(message).trim().split("\n").at(-1) || "no error message"}`;
  const hint = "Try kubectl with the same kubeconfig: a new login may be necessary.";
  return new LabError("BAD_FILE", `${text}, which ${why}`, hint);
}

function isText(value: unknown): boolean {
  return (typeof value === "string" || Buffer.isBuffer(value)) && value.length > 0;
}

function authorizationOf({ headers }: RequestOptions): string | undefined {
  const value = (headers as Readonly<Record<string, unknown>> | undefined)?.["Authorization"];
  return typeof value === "string" ? value : undefined;
}

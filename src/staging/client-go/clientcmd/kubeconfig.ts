import { createPrivateKey, X509Certificate } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import type { Cluster, User } from "@kubernetes/client-node";
import { LabError } from "../../../util/errors.js";
import { readFileAtMost } from "../../../util/os/read-at-most.js";
import { withoutEnding } from "../../../util/text/linear-text.js";
import type { AskingHeaders, RestConfig } from "../rest/client.js";
import {
  chooseContext,
  damaged,
  type Kubeconfig,
  mergeKubeconfigs,
  type NamedEntry,
  parseKubeconfig,
  readKubeconfig,
} from "./document.js";
import { withImpersonation } from "./impersonation.js";
import { needsLogin, withLogin } from "./login.js";

export interface LoadedKubeconfig {
  readonly config: RestConfig;
  readonly contextName: string;
}

/**
 * Loads one kubeconfig file.
 * @param options.context default: the file's current-context
 * @throws LabError BAD_FILE when the file, or a file that it names, is missing, unreadable or incomplete
 */
export async function loadKubeconfig(
  path: string,
  options: { readonly context?: string; readonly signal?: AbortSignal } = {},
): Promise<LoadedKubeconfig> {
  return toConfig(await readFileAt(path, options.signal), options.context);
}

/**
 * Loads the cluster that kubectl would use: `--kubeconfig`, else all files of $KUBECONFIG, else ~/.kube/config.
 *
 * Mirrors k8s.io/client-go/tools/clientcmd/loader.go (ClientConfigLoadingRules): missing files of $KUBECONFIG are skipped, a
 * file named by a flag must exist.
 * @throws LabError BAD_FILE
 */
export async function loadRealKubeconfig(
  env: Readonly<Record<string, string | undefined>>,
  options: { readonly kubeconfig?: string; readonly context?: string; readonly signal?: AbortSignal },
): Promise<LoadedKubeconfig> {
  const { kubeconfig, context, signal } = options;
  if (kubeconfig !== undefined) return toConfig(await readFileAt(kubeconfig, signal), context);
  const listed = (env["KUBECONFIG"] ?? "").split(":").filter((path) => path !== "");
  const paths = listed.length > 0 ? listed : [join(env["HOME"] ?? ".", ".kube", "config")];
  const found: Kubeconfig[] = [];
  for (const path of paths) {
    try {
      found.push(await readFileAt(path, signal));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  if (found.length > 0) return toConfig(mergeKubeconfigs(...found), context);
  throw new LabError(
    "BAD_FILE",
    `there is no kubeconfig: ${paths.join(", ")} does not exist`,
    "Choose one with --kubeconfig, or leave out --real and --context to use the embedded cluster.",
  );
}

/**
 * The CA (PEM) of the first cluster in a kubeconfig from a server, such as that of cluster-info; undefined if it has no CA.
 * File names in it are ignored.
 * @param what for error messages: `of cluster-info`
 * @throws LabError BAD_FILE
 */
export async function certificateAuthorityOf(text: string, what: string): Promise<string | undefined> {
  const { clusters } = await parseKubeconfig(text, what);
  return pem("certificate-authority", clusters[0]?.fields["certificate-authority-data"], undefined, what);
}

async function readFileAt(path: string, signal?: AbortSignal): Promise<Kubeconfig> {
  return readKubeconfig(await readText(path, `kubeconfig ${path}`, signal), path, dirname(resolve(path)));
}

async function readText(path: string, what: string, signal?: AbortSignal): Promise<string> {
  try {
    return (await readFileAtMost(path, signal)).toString();
  } catch (cause) {
    signal?.throwIfAborted();
    const { code, message } = cause as NodeJS.ErrnoException;
    const known = new Map([
      ["ENOENT", "does not exist"],
      ["EISDIR", "is a folder"],
      ["EFBIG", `cannot be read: ${message}`],
    ]);
    const why = known.get(code ?? "") ?? `cannot be read (${code})`;
    throw new LabError("BAD_FILE", `${what} ${why}`, "Check the path and its permissions.", { cause });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof LabError && (error.cause as { code?: unknown } | undefined)?.code === "ENOENT";
}

async function toConfig(kubeconfig: Kubeconfig, context: string | undefined): Promise<LoadedKubeconfig> {
  const { contextName, cluster, user } = chooseContext(kubeconfig, context);
  const { document, path } = kubeconfig;
  const entryOf = (entries: readonly NamedEntry[], name: string | undefined) =>
    entries.find((one) => one.name === name);
  const userEntry = entryOf(document.users, user?.name);
  const known = { ...(await clusterConfig(cluster, path)), ...(await credentials(user, userEntry, path)) };
  const chosen = { cluster, user, clusterEntry: entryOf(document.clusters, cluster.name), path };
  const config = needsLogin(chosen) ? await withLogin(known, chosen) : known;
  return { config: userEntry === undefined ? config : withImpersonation(config, userEntry, path), contextName };
}

async function clusterConfig(cluster: Cluster, path: string): Promise<RestConfig> {
  const { server, caData, caFile, tlsServerName, skipTLSVerify } = cluster;
  const caPem = await pem("certificate-authority", caData, caFile, path);
  return {
    server: withoutEnding(server, "/"),
    ...(caPem === undefined ? {} : { caPem }),
    ...(isText(tlsServerName) ? { tlsServerName } : {}),
    ...(skipTLSVerify ? { insecureSkipTlsVerify: true } : {}),
  };
}

async function credentials(
  user: User | undefined,
  entry: NamedEntry | undefined,
  path: string,
): Promise<Partial<RestConfig>> {
  if (user === undefined) return {};
  const clientCertificatePem = await pem("client-certificate", user.certData, user.certFile, path);
  const clientKeyPem = await pem("client-key", user.keyData, user.keyFile, path);
  if ((clientCertificatePem === undefined) !== (clientKeyPem === undefined)) {
    throw damaged(path, `has only one of client-certificate and client-key for user "${user.name}"`);
  }
  if (clientCertificatePem !== undefined && clientKeyPem !== undefined) {
    checkPair(clientCertificatePem, clientKeyPem, user, path);
  }
  const token = (await readTokenFile(entry)) ?? user.token;
  return {
    ...(clientCertificatePem === undefined ? {} : { clientCertificatePem }),
    ...(clientKeyPem === undefined ? {} : { clientKeyPem }),
    ...(isText(token) ? { token } : {}),
    ...(isText(user.username) ? { authorize: basicAuthentication(user.username, user.password ?? "") } : {}),
  };
}

/** `tokenFile` wins over `token`, as in client-go. client-node looks for `token-file`, which kubeconfigs do not have. */
async function readTokenFile(entry: NamedEntry | undefined): Promise<string | undefined> {
  const tokenFile = entry?.fields["tokenFile"];
  return isText(tokenFile) ? (await readText(tokenFile, `token file ${tokenFile}`)).trim() : undefined;
}

function basicAuthentication(username: string, password: string): NonNullable<RestConfig["authorize"]> {
  const basic = Buffer.from(`${username}:${password}`).toString("base64");
  return async (headers: AskingHeaders) => {
    headers["Authorization"] = `Basic ${basic}`;
  };
}

/** Checked here, where the file's name is known. */
function checkPair(certificatePem: string, keyPem: string, user: User, path: string): void {
  let isPair: boolean;
  try {
    isPair = new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    return; // One of them is unreadable, which the connection reports.
  }
  if (isPair) return;
  throw new LabError(
    "BAD_FILE",
    `the client key of user "${user.name}" in kubeconfig ${path} does not belong to its client certificate`,
    "Take key and certificate from the same place, or get a new kubeconfig.",
  );
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/**
 * PEM from the file itself (`<key>-data`, base64) or from another file (`<key>`).
 * Inline data wins, as in client-go; KubeConfig would take the file.
 */
async function pem(key: string, data: unknown, file: unknown, path: string): Promise<string | undefined> {
  if (!isText(data) && !isText(file)) return undefined;
  const place = isText(data) ? `${key}-data` : `${key} ${file}`;
  const content = isText(data)
    ? Buffer.from(data, "base64").toString("utf8")
    : await readText(String(file), `${place} of kubeconfig ${path}`);
  const begin = /-----BEGIN [^-]+-----/.exec(content);
  if (begin === null || !/-----END [^-]+-----/.test(content.slice(begin.index + begin[0].length))) {
    throw damaged(path, `has a ${place} that is cut off or not PEM`);
  }
  return content;
}

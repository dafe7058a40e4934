import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { LabError } from "../../util/errors.js";
import type { AskingHeaders, RestConfig } from "../rest/client.js";
import {
  type ChosenContext,
  chooseContext,
  damaged,
  type KubeconfigDocument,
  mergeKubeconfigs,
  type NamedEntry,
  parseKubeconfig,
} from "./document.js";
import { withImpersonation } from "./impersonation.js";

export interface LoadedKubeconfig {
  readonly config: RestConfig;
  readonly contextName: string;
}

/**
 * Reads one kubeconfig file.
 * @param options.context default: the file's current-context
 * @throws LabError BAD_FILE when the file, or one it names, is missing, unreadable or half-written
 */
export async function loadKubeconfig(
  path: string,
  options: { readonly context?: string } = {},
): Promise<LoadedKubeconfig> {
  return toConfig(chooseContext(await readDocument(path), path, options.context), path);
}

/**
 * A kubeconfig that is no file, such as that of cluster-info.
 * @param what for error texts: `of cluster-info`
 * @throws LabError BAD_FILE
 */
export async function loadKubeconfigText(text: string, what: string): Promise<LoadedKubeconfig> {
  const document = await parseKubeconfig(text, what, ".");
  // That of cluster-info has a cluster and nothing else.
  const cluster = document.clusters[0];
  if (document["current-context"] === undefined && cluster !== undefined) {
    return toConfig({ name: "", cluster, user: undefined }, what);
  }
  return toConfig(chooseContext(document, what), what);
}

/**
 * The cluster that kubectl would use: `--kubeconfig`, else every file of $KUBECONFIG, else ~/.kube/config.
 *
 * Mirrors k8s.io/client-go/tools/clientcmd/loader.go (ClientConfigLoadingRules): files of the list that do not exist are
 * skipped, a file named by a flag must exist.
 * @throws LabError BAD_FILE
 */
export async function loadRealKubeconfig(
  env: Readonly<Record<string, string | undefined>>,
  options: { readonly kubeconfig?: string; readonly context?: string },
): Promise<LoadedKubeconfig> {
  if (options.kubeconfig !== undefined) {
    return loadKubeconfig(options.kubeconfig, options.context === undefined ? {} : { context: options.context });
  }
  const listed = (env["KUBECONFIG"] ?? "").split(":").filter((path) => path !== "");
  const paths = listed.length > 0 ? listed : [join(env["HOME"] ?? ".", ".kube", "config")];
  const documents: KubeconfigDocument[] = [];
  for (const path of paths) {
    const document = await readDocument(path).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (document !== undefined) documents.push(document);
  }
  if (documents.length === 0) {
    throw new LabError(
      "BAD_FILE",
      `there is no kubeconfig: ${paths.join(", ")} does not exist`,
      "Name one with --kubeconfig, or leave out --real and --context to use the embedded cluster.",
    );
  }
  return toConfig(chooseContext(mergeKubeconfigs(documents), paths.join(":"), options.context), paths.join(":"));
}

async function readDocument(path: string): Promise<KubeconfigDocument> {
  return parseKubeconfig(await readText(path, `kubeconfig ${path}`), path, dirname(resolve(path)));
}

async function readText(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const why = code === "ENOENT" ? "does not exist" : code === "EISDIR" ? "is a folder" : `cannot be read (${code})`;
    throw new LabError("BAD_FILE", `${what} ${why}`, "Check the path and its permissions.", { cause });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof LabError && (error.cause as { code?: unknown } | undefined)?.code === "ENOENT";
}

async function toConfig(chosen: ChosenContext, path: string): Promise<LoadedKubeconfig> {
  const { cluster, user, name } = chosen;
  const server = text(cluster, "server");
  if (server === undefined) throw damaged(path, `has no server in cluster "${cluster.name}"`);
  if (text(cluster, "proxy-url") !== undefined)
    throw damaged(path, "asks for a proxy (proxy-url), which is not supported");
  const caPem = await pem(cluster, "certificate-authority", path);
  const tlsServerName = text(cluster, "tls-server-name");
  const config: RestConfig = {
    server: server.replace(/\/+$/, ""),
    ...(caPem === undefined ? {} : { caPem }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(cluster.fields["insecure-skip-tls-verify"] === true ? { insecureSkipTlsVerify: true } : {}),
    ...(user === undefined ? {} : await credentials(user, path)),
  };
  if (user === undefined) return { config, contextName: name };
  const known = needsLogin(user) ? await (await import("./login.js")).withLogin(config, chosen, path) : config;
  return { config: withImpersonation(known, user, path), contextName: name };
}

function needsLogin(user: NamedEntry): boolean {
  return user.fields["exec"] !== undefined || user.fields["auth-provider"] !== undefined;
}

async function credentials(user: NamedEntry, path: string): Promise<Partial<RestConfig>> {
  const clientCertificatePem = await pem(user, "client-certificate", path);
  const clientKeyPem = await pem(user, "client-key", path);
  if ((clientCertificatePem === undefined) !== (clientKeyPem === undefined)) {
    throw damaged(path, `has only one of client-certificate and client-key for user "${user.name}"`);
  }
  if (clientCertificatePem !== undefined && clientKeyPem !== undefined) {
    checkPair(clientCertificatePem, clientKeyPem, user, path);
  }
  const tokenFile = text(user, "tokenFile");
  const token =
    text(user, "token") ??
    (tokenFile === undefined
      ? undefined
      : (await readText(resolveIn(user, tokenFile), `token file ${tokenFile}`)).trim());
  const username = text(user, "username");
  const basic = Buffer.from(`${username}:${text(user, "password") ?? ""}`).toString("base64");
  return {
    ...(clientCertificatePem === undefined ? {} : { clientCertificatePem }),
    ...(clientKeyPem === undefined ? {} : { clientKeyPem }),
    ...(token === undefined ? {} : { token }),
    ...(username === undefined
      ? {}
      : {
          authorize: async (headers: AskingHeaders) => {
            headers["Authorization"] = `Basic ${basic}`;
          },
        }),
  };
}

/** Found here, where the file's name is known; the connection would only say that something does not fit. */
function checkPair(certificatePem: string, keyPem: string, user: NamedEntry, path: string): void {
  let isPair: boolean;
  try {
    isPair = new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    return; // One of them cannot be read: the connection says so, in its own sentence.
  }
  if (isPair) return;
  throw new LabError(
    "BAD_FILE",
    `the client key of user "${user.name}" in kubeconfig ${path} does not belong to its client certificate`,
    "Take key and certificate from the same place, or get the whole kubeconfig anew.",
  );
}

function text(entry: NamedEntry, key: string): string | undefined {
  const value = entry.fields[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function resolveIn(entry: NamedEntry, file: string): string {
  return isAbsolute(file) ? file : join(entry.folder, file);
}

/** A PEM text that is inline (`<key>-data`, base64) or in a file (`<key>`); inline wins, as in client-go. */
async function pem(entry: NamedEntry, key: string, path: string): Promise<string | undefined> {
  const inline = text(entry, `${key}-data`);
  const file = text(entry, key);
  if (inline === undefined && file === undefined) return undefined;
  const place = inline === undefined ? `${key} ${file}` : `${key}-data`;
  const content =
    inline === undefined
      ? await readText(resolveIn(entry, file ?? ""), `${place} of kubeconfig ${path}`)
      : Buffer.from(inline, "base64").toString("utf8");
  if (!/-----BEGIN [^-]+-----[\s\S]+-----END [^-]+-----/.test(content)) {
    throw damaged(path, `has a ${place} that is cut off or no PEM`);
  }
  return content;
}

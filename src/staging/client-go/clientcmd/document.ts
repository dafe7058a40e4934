import { isAbsolute, join } from "node:path";
import type { Cluster, Context, User } from "@kubernetes/client-node";
import { LabError } from "../../../util/errors.js";

/** One element of a kubeconfig's three lists; `fields` is the value of `cluster`, `user` or `context`. */
export interface NamedEntry {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A kubeconfig as it is in the file. Mirrors k8s.io/client-go/tools/clientcmd/api/v1 (Config). */
export interface KubeconfigDocument {
  readonly currentContext: string | undefined;
  readonly clusters: readonly NamedEntry[];
  readonly users: readonly NamedEntry[];
  readonly contexts: readonly NamedEntry[];
}

/** A loaded kubeconfig: complete entries as client-node reads them, and the document for the fields that it leaves out. */
export interface Kubeconfig {
  readonly clusters: readonly Cluster[];
  readonly users: readonly User[];
  readonly contexts: readonly Context[];
  readonly document: KubeconfigDocument;
  /** of the file or files, for error messages */
  readonly path: string;
}

/**
 * Loads one kubeconfig. An incomplete entry is left out: it is an error only for the context that uses it.
 * @param folder that relative file names in it refer to
 * @throws LabError BAD_FILE for a text that is empty, not YAML, cut off, or not a kubeconfig
 */
export async function readKubeconfig(text: string, path: string, folder: string): Promise<Kubeconfig> {
  const document = resolvePaths(await parseKubeconfig(text, path), folder);
  // The rest of client-node is its generated API and its KubeConfig, which brings proxies and OIDC.
  const { newClusters, newContexts, newUsers } = await import("@kubernetes/client-node/dist/config_types.js");
  const entries = (list: readonly NamedEntry[], key: string) =>
    list.map(({ name, fields }) => ({ name, [key]: fields }));
  const options = { onInvalidEntry: "filter" } as const;
  return {
    clusters: newClusters(entries(document.clusters, "cluster"), options),
    users: newUsers(entries(document.users, "user"), options),
    contexts: newContexts(entries(document.contexts, "context"), options),
    document,
    path,
  };
}

/**
 * Parses one kubeconfig.
 * @throws LabError BAD_FILE
 */
export async function parseKubeconfig(text: string, path: string): Promise<KubeconfigDocument> {
  const value = await parseYaml(text, path);
  if (value === null || value === undefined) throw damaged(path, "is empty");
  if (typeof value !== "object" || Array.isArray(value)) throw damaged(path, "is not a kubeconfig");
  const fields = value as Record<string, unknown>;
  if (fields["clusters"] === undefined && fields["contexts"] === undefined && fields["users"] === undefined) {
    throw damaged(path, "is not a kubeconfig");
  }
  const current = fields["current-context"];
  return {
    currentContext: typeof current === "string" && current !== "" ? current : undefined,
    clusters: namedEntries(fields["clusters"], "cluster", path),
    users: namedEntries(fields["users"], "user", path),
    contexts: namedEntries(fields["contexts"], "context", path),
  };
}

/** JSON needs no YAML parser. The parsers' errors quote the text, which holds credentials: they are not kept as a cause. */
async function parseYaml(text: string, path: string): Promise<unknown> {
  try {
    if (text.trimStart().startsWith("{")) return JSON.parse(text);
    const { parseYaml: parse } = await import("../../apimachinery/yaml.js");
    return parse(text);
  } catch (error) {
    const { line } = error as { readonly line?: number };
    throw damaged(path, `is not readable YAML${line === undefined ? "" : ` (line ${line})`}`);
  }
}

function namedEntries(list: unknown, key: string, path: string): NamedEntry[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw damaged(path, `has no list of ${key}s`);
  return list.map((entry: unknown) => {
    const { name, [key]: fields } = (entry ?? {}) as Record<string, unknown>;
    if (typeof name !== "string" || (fields !== null && typeof fields !== "object")) {
      throw damaged(path, `has a ${key} without a name or without content`);
    }
    return { name, fields: (fields ?? {}) as Record<string, unknown> };
  });
}

/**
 * Makes the paths of files absolute.
 * Mirrors k8s.io/client-go/tools/clientcmd/loader.go (GetClusterFileReferences, GetAuthInfoFileReferences): a command without a
 * slash is found by PATH.
 */
function resolvePaths(document: KubeconfigDocument, folder: string): KubeconfigDocument {
  const resolve = (file: string) => (isAbsolute(file) ? file : join(folder, file));
  const resolveIn = (fields: NamedEntry["fields"], keys: readonly string[]) =>
    Object.fromEntries(
      Object.entries(fields).map(([key, value]) => {
        const isFile = keys.includes(key) && typeof value === "string" && value !== "";
        return [key, isFile ? resolve(value) : value];
      }),
    );
  const clusters = document.clusters.map(({ name, fields }) => {
    return { name, fields: resolveIn(fields, ["certificate-authority"]) };
  });
  const users = document.users.map(({ name, fields }) => {
    const { exec } = fields as { exec?: { command?: unknown } | null };
    const command = exec?.command;
    return {
      name,
      fields: {
        ...resolveIn(fields, ["client-certificate", "client-key", "tokenFile"]),
        ...(typeof command === "string" && command.includes("/")
          ? { exec: { ...exec, command: resolve(command) } }
          : {}),
      },
    };
  });
  return { ...document, clusters, users };
}

/**
 * Merges several kubeconfigs: the first definition of each name and of current-context wins.
 *
 * Mirrors k8s.io/client-go/tools/clientcmd/loader.go (ClientConfigLoadingRules.Load).
 */
export function mergeKubeconfigs(...all: readonly Kubeconfig[]): Kubeconfig {
  const documents = all.map(({ document }) => document);
  return {
    clusters: all.flatMap((one) => one.clusters),
    users: all.flatMap((one) => one.users),
    contexts: all.flatMap((one) => one.contexts),
    document: {
      currentContext: documents.find(({ currentContext }) => currentContext !== undefined)?.currentContext,
      clusters: documents.flatMap((one) => one.clusters),
      users: documents.flatMap((one) => one.users),
      contexts: documents.flatMap((one) => one.contexts),
    },
    path: all.map((one) => one.path).join(":"),
  };
}

/** A context with what it names. */
export interface ChosenEntries {
  readonly contextName: string;
  readonly cluster: Cluster;
  readonly user: User | undefined;
}

/**
 * Finds a context, its cluster and its user: the first entry of each name.
 * @param wanted default: the kubeconfig's current-context
 * @throws LabError BAD_FILE when the context, its cluster or its user does not exist
 */
export function chooseContext(
  { clusters, users, contexts, document, path }: Kubeconfig,
  wanted?: string,
): ChosenEntries {
  const contextName = wanted ?? document.currentContext;
  const names = [...new Set(contexts.map((one) => one.name))].join(", ") || "none";
  if (contextName === undefined) throw lacks(path, `has no current-context (contexts: ${names})`);
  const context = contexts.find((one) => one.name === contextName);
  if (context === undefined) throw lacks(path, `has no context "${contextName}" (it has: ${names})`);
  const cluster = clusters.find((one) => one.name === context.cluster);
  if (cluster === undefined) {
    const isIncomplete = document.clusters.some((one) => one.name === context.cluster);
    if (isIncomplete) throw damaged(path, `has no server in cluster "${context.cluster}"`);
    throw lacks(path, `has no cluster "${context.cluster}", which "${contextName}" names`);
  }
  const user = users.find((one) => one.name === context.user);
  if (context.user !== undefined && user === undefined) {
    throw lacks(path, `has no user "${context.user}", which "${contextName}" names`);
  }
  return { contextName, cluster, user };
}

/** The error for a name that a readable kubeconfig does not define. */
function lacks(path: string, what: string): LabError {
  const hint = "Choose one of its contexts with --context, or another file with --kubeconfig.";
  return new LabError("BAD_FILE", `kubeconfig ${path} ${what}`, hint);
}

/** The error for a kubeconfig that cannot be used. @param what completes `kubeconfig FILE ...`: `is not YAML` */
export function damaged(path: string, what: string): LabError {
  const hint = "The file may be incomplete: write it again, or choose another one with --kubeconfig.";
  return new LabError("BAD_FILE", `kubeconfig ${path} ${what}`, hint);
}

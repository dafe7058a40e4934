import { isAbsolute, join } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
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

/** A loaded kubeconfig: client-node's view, and the document for the fields that client-node leaves out. */
export interface Kubeconfig {
  readonly kubeConfig: KubeConfig;
  readonly document: KubeconfigDocument;
  /** of the file or files, for error messages */
  readonly path: string;
}

/**
 * Loads one kubeconfig into client-node's KubeConfig.
 * @param folder that relative file names in it refer to
 * @throws LabError BAD_FILE for a text that is empty, not YAML, cut off, or not a kubeconfig
 */
export async function readKubeconfig(text: string, path: string, folder: string): Promise<Kubeconfig> {
  const document = resolvePaths(await parseKubeconfig(text, path), folder);
  // The rest of client-node is its generated API, which takes five times as long to load.
  const [{ KubeConfig }, { newClusters, newContexts, newUsers }] = await Promise.all([
    import("@kubernetes/client-node/dist/config.js"),
    import("@kubernetes/client-node/dist/config_types.js"),
  ]);
  const kubeConfig = new KubeConfig();
  // An incomplete entry is an error only for the context that uses it.
  const options = { onInvalidEntry: "filter" } as const;
  kubeConfig.loadFromOptions({
    clusters: newClusters(
      document.clusters.map(({ name, fields }) => ({ name, cluster: fields })),
      options,
    ),
    users: newUsers(
      document.users.map(({ name, fields }) => ({ name, user: fields })),
      options,
    ),
    contexts: newContexts(
      document.contexts.map(({ name, fields }) => ({ name, context: fields })),
      options,
    ),
    currentContext: document.currentContext,
  });
  kubeConfig.makePathsAbsolute(folder);
  return { kubeConfig, document, path };
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
 * Makes the paths absolute that `KubeConfig.makePathsAbsolute` leaves out.
 * Mirrors k8s.io/client-go/tools/clientcmd/loader.go (GetAuthInfoFileReferences): a command without a slash is found by PATH.
 */
function resolvePaths(document: KubeconfigDocument, folder: string): KubeconfigDocument {
  const resolve = (file: string) => (isAbsolute(file) ? file : join(folder, file));
  const users = document.users.map(({ name, fields }) => {
    const { tokenFile, exec } = fields as { tokenFile?: unknown; exec?: { command?: unknown } | null };
    const command = exec?.command;
    return {
      name,
      fields: {
        ...fields,
        ...(typeof tokenFile === "string" && tokenFile !== "" ? { tokenFile: resolve(tokenFile) } : {}),
        ...(typeof command === "string" && command.includes("/")
          ? { exec: { ...exec, command: resolve(command) } }
          : {}),
      },
    };
  });
  return { ...document, users };
}

/**
 * Merges several kubeconfigs: the first definition of each name and of current-context wins.
 *
 * Mirrors k8s.io/client-go/tools/clientcmd/loader.go (ClientConfigLoadingRules.Load).
 * Differs: `KubeConfig.mergeConfig` refuses a name that it has already, so later definitions are removed first.
 */
export function mergeKubeconfigs(first: Kubeconfig, ...others: readonly Kubeconfig[]): Kubeconfig {
  const { kubeConfig } = first;
  for (const { kubeConfig: next } of others) {
    next.clusters = next.clusters.filter(({ name }) => kubeConfig.getCluster(name) === null);
    next.users = next.users.filter(({ name }) => kubeConfig.getUser(name) === null);
    next.contexts = next.contexts.filter(({ name }) => kubeConfig.getContextObject(name) === null);
    kubeConfig.mergeConfig(next, kubeConfig.currentContext !== undefined);
  }
  const all = [first, ...others];
  const document = {
    currentContext: kubeConfig.currentContext,
    clusters: all.flatMap((one) => one.document.clusters),
    users: all.flatMap((one) => one.document.users),
    contexts: all.flatMap((one) => one.document.contexts),
  };
  return { kubeConfig, document, path: all.map((one) => one.path).join(":") };
}

/**
 * Makes a context the current one.
 * @param contextName default: the kubeconfig's current-context
 * @returns its name
 * @throws LabError BAD_FILE when the context, its cluster or its user does not exist
 */
export function chooseContext({ kubeConfig, document, path }: Kubeconfig, contextName?: string): string {
  const name = contextName ?? kubeConfig.getCurrentContext();
  const names = kubeConfig.contexts.map((one) => one.name).join(", ") || "none";
  if (name === undefined) throw lacks(path, `has no current-context (contexts: ${names})`);
  kubeConfig.setCurrentContext(name);
  const context = kubeConfig.getContextObject(name);
  if (context === null) throw lacks(path, `has no context "${name}" (it has: ${names})`);
  if (kubeConfig.getCurrentCluster() === null) {
    const isIncomplete = document.clusters.some((one) => one.name === context.cluster);
    if (isIncomplete) throw damaged(path, `has no server in cluster "${context.cluster}"`);
    throw lacks(path, `has no cluster "${context.cluster}", which "${name}" names`);
  }
  if (context.user !== undefined && kubeConfig.getCurrentUser() === null) {
    throw lacks(path, `has no user "${context.user}", which "${name}" names`);
  }
  return name;
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

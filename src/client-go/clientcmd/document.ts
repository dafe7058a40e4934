import { LabError } from "../../util/errors.js";

/** A kubeconfig as it is in the file. Mirrors k8s.io/client-go/tools/clientcmd/api/v1 (Config). */
export interface KubeconfigDocument {
  readonly "current-context"?: string;
  readonly clusters: readonly NamedEntry[];
  readonly users: readonly NamedEntry[];
  readonly contexts: readonly NamedEntry[];
}

/** One element of the three lists; `fields` is what stands under `cluster`, `user` or `context`. */
export interface NamedEntry {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** folder that relative file names inside are meant from */
  readonly folder: string;
}

/**
 * Parses one kubeconfig.
 * @throws LabError BAD_FILE for a text that is empty, no YAML, cut off, or no kubeconfig
 */
export async function parseKubeconfig(text: string, path: string, folder: string): Promise<KubeconfigDocument> {
  const value = await parseDocument(text, path);
  if (value === null || value === undefined) throw damaged(path, "is empty");
  if (typeof value !== "object" || Array.isArray(value)) throw damaged(path, "is not a kubeconfig");
  const fields = value as Record<string, unknown>;
  if (fields["clusters"] === undefined && fields["contexts"] === undefined) throw damaged(path, "is not a kubeconfig");
  const current = fields["current-context"];
  return {
    ...(typeof current === "string" && current !== "" ? { "current-context": current } : {}),
    clusters: namedEntries(fields["clusters"], "cluster", path, folder),
    users: namedEntries(fields["users"], "user", path, folder),
    contexts: namedEntries(fields["contexts"], "context", path, folder),
  };
}

/** JSON is YAML, too, and needs no parser to be loaded. */
async function parseDocument(text: string, path: string): Promise<unknown> {
  try {
    if (text.trimStart().startsWith("{")) return JSON.parse(text);
    const { parse } = await import("../../util/yaml.js");
    return parse(text);
  } catch (cause) {
    throw damaged(path, "is not readable YAML", cause);
  }
}

function namedEntries(list: unknown, key: string, path: string, folder: string): NamedEntry[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw damaged(path, `has no list of ${key}s where one belongs`);
  return list.map((entry: unknown) => {
    const { name, [key]: fields } = (entry ?? {}) as Record<string, unknown>;
    if (typeof name !== "string" || (fields !== null && typeof fields !== "object")) {
      throw damaged(path, `has a ${key} without a name or without content`);
    }
    return { name, fields: (fields ?? {}) as Record<string, unknown>, folder };
  });
}

/** A file that is whole, and does not hold what was asked for. */
function lacks(path: string, what: string): LabError {
  const hint = "Name one that it has with --context, or another file with --kubeconfig.";
  return new LabError("BAD_FILE", `kubeconfig ${path} ${what}`, hint);
}

/** The error for a kubeconfig that cannot be read. @param what completes `kubeconfig FILE ...`: `is not YAML` */
export function damaged(path: string, what: string, cause?: unknown): LabError {
  return new LabError(
    "BAD_FILE",
    `kubeconfig ${path} ${what}`,
    "Was it cut off while it was written? Write it again, or name another with --kubeconfig.",
    ...(cause === undefined ? [] : [{ cause }]),
  );
}

/**
 * Several kubeconfigs as one: of each name and of current-context the first file's counts.
 * Mirrors k8s.io/client-go/tools/clientcmd/loader.go (ClientConfigLoadingRules.Load).
 */
export function mergeKubeconfigs(documents: readonly KubeconfigDocument[]): KubeconfigDocument {
  const current = documents.map((one) => one["current-context"]).find((name) => name !== undefined);
  return {
    ...(current === undefined ? {} : { "current-context": current }),
    clusters: firstOfEachName(documents.flatMap((one) => one.clusters)),
    users: firstOfEachName(documents.flatMap((one) => one.users)),
    contexts: firstOfEachName(documents.flatMap((one) => one.contexts)),
  };
}

function firstOfEachName(entries: readonly NamedEntry[]): NamedEntry[] {
  const byName = new Map<string, NamedEntry>();
  for (const entry of entries) if (!byName.has(entry.name)) byName.set(entry.name, entry);
  return [...byName.values()];
}

/** The cluster and user that a context puts together. */
export interface ChosenContext {
  readonly name: string;
  readonly cluster: NamedEntry;
  readonly user: NamedEntry | undefined;
}

/**
 * @param contextName default: the file's current-context
 * @throws LabError BAD_FILE when a name leads nowhere
 */
export function chooseContext(document: KubeconfigDocument, path: string, contextName?: string): ChosenContext {
  const name = contextName ?? document["current-context"];
  if (name === undefined) throw lacks(path, `has no current-context (contexts: ${contextNames(document)})`);
  const context = document.contexts.find((one) => one.name === name);
  if (context === undefined) {
    throw lacks(path, `has no context "${name}" (it has: ${contextNames(document)})`);
  }
  const cluster = document.clusters.find((one) => one.name === context.fields["cluster"]);
  if (cluster === undefined) throw lacks(path, `has no cluster "${context.fields["cluster"]}", which "${name}" names`);
  const userName = context.fields["user"];
  const user = document.users.find((one) => one.name === userName);
  if (user === undefined && userName !== undefined && userName !== "") {
    throw lacks(path, `has no user "${userName}", which "${name}" names`);
  }
  return { name, cluster, user };
}

function contextNames({ contexts }: KubeconfigDocument): string {
  return contexts.map((one) => one.name).join(", ") || "none";
}

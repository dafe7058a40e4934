import { join } from "node:path";
import { parseYaml } from "../apimachinery/yaml.js";
import { readIfThere, writeFileAtomic } from "../util/files.js";
import { readFileAtMost } from "../util/read-at-most.js";
import { stringify } from "../util/yaml.js";
import { type KubectlLine, text, unknown } from "./arguments.js";
import type { KubectlContext } from "./session.js";

interface Entry {
  readonly name: string;
  readonly [key: string]: unknown;
}
type Document = Record<string, unknown> & { "current-context"?: string };

/**
 * `config set-cluster|set-credentials|set-context|use-context`: changes a kubeconfig, which need not be there.
 *
 * Mirrors k8s.io/kubectl/pkg/cmd/config (createClusterOptions, setCredentialsOptions, setContextOptions).
 */
export async function editConfig(context: KubectlContext, line: KubectlLine, path: string): Promise<string> {
  const [what, name = ""] = line.words;
  const content = (await readIfThere(path, context.signal)) ?? "";
  const document = (parseYaml(content) ?? { apiVersion: "v1", kind: "Config" }) as Document;
  const current = document["current-context"] ?? "";
  let said: string;
  if (what === "use-context") {
    document["current-context"] = name;
    said = `Switched to context "${name}".`;
  } else if (what === "set-cluster") {
    put(document, "clusters", name, "cluster", {
      server: text(line, "server"),
      ...(await fileField(context, line, "certificate-authority")),
    });
    said = `Cluster "${name}" set.`;
  } else if (what === "set-credentials") {
    put(document, "users", name, "user", {
      token: text(line, "token"),
      ...(await fileField(context, line, "client-certificate")),
      ...(await fileField(context, line, "client-key")),
    });
    said = `User "${name}" set.`;
  } else if (what === "set-context") {
    const meant = line.flags["current"] === undefined ? name : current;
    const fields = { cluster: text(line, "cluster"), user: text(line, "user"), namespace: text(line, "namespace") };
    said = `Context "${meant}" ${put(document, "contexts", meant, "context", fields) ? "modified" : "created"}.`;
  } else throw unknown(`config ${what ?? ""}`);
  await writeFileAtomic(path, stringify(document), { mode: 0o600 });
  return `${said}\n`;
}

/** @returns whether it existed */
function put(document: Document, list: string, name: string, key: string, fields: Record<string, unknown>): boolean {
  const entries = (document[list] ?? []) as Entry[];
  const before = entries.find((one) => one.name === name);
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const entry = { name, [key]: { ...(before?.[key] as object | undefined), ...given } };
  document[list] = before === undefined ? [...entries, entry] : entries.map((one) => (one === before ? entry : one));
  return before !== undefined;
}

/** A file by its path, or its contents. */
async function fileField(context: KubectlContext, line: KubectlLine, name: string): Promise<Record<string, string>> {
  const file = text(line, name);
  if (file === undefined) return {};
  const path = file.startsWith("/") ? file : join(context.cwd, file);
  if (line.flags["embed-certs"] === undefined) return { [name]: path };
  return { [`${name}-data`]: (await readFileAtMost(path, context.signal)).toString("base64") };
}

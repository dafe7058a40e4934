import { join } from "node:path";
import { parseYaml } from "../../../staging/apimachinery/yaml.js";
import { readIfThere, writeFileAtomic } from "../../../util/os/files.js";
import { readFileAtMost } from "../../../util/os/read-at-most.js";
import { stringify } from "../../../util/yaml.js";
import { isOn, type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
import { checkFormat, objectText } from "../output.js";
import type { KubectlContext, Session } from "../session.js";

interface Entry {
  readonly name: string;
  readonly [key: string]: unknown;
}
type Document = Record<string, unknown> & { "current-context"?: string };

/**
 * `config set-cluster|set-credentials|set-context|use-context`: changes a kubeconfig, or creates it.
 *
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/config/set_cluster.go and its siblings (createClusterOptions, setCredentialsOptions, setContextOptions).
 */
export async function editConfig(context: KubectlContext, line: KubectlLine, path: string): Promise<string> {
  const [name = ""] = line.words;
  const what = line.verb.slice("config ".length);
  if (name === "" && !isOn(line, "current")) throw lineError(line.verb, ["kubectlNeedsName", { what: line.verb }]);
  const content = (await readIfThere(path, context.signal)) ?? "";
  const document = (parseYaml(content) ?? { apiVersion: "v1", kind: "Config" }) as Document;
  const current = document["current-context"] ?? "";
  let said: string;
  if (what === "use-context") {
    const contexts = (document["contexts"] ?? []) as Entry[];
    if (!contexts.some((one) => one.name === name)) {
      throw lineError(line.verb, `no context exists with the name: "${name}"`);
    }
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
  } else {
    const meant = !isOn(line, "current") ? name : current;
    const fields = { cluster: text(line, "cluster"), user: text(line, "user"), namespace: text(line, "namespace") };
    said = `Context "${meant}" ${put(document, "contexts", meant, "context", fields) ? "modified" : "created"}.`;
  }
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
  if (!isOn(line, "embed-certs")) return { [name]: path };
  return { [`${name}-data`]: (await readFileAtMost(path, context.signal)).toString("base64") };
}

/**
 * `config view [--raw] [-o F]`: prints the file, without secrets.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/config/view.go (Run). Differs: `--minify` is accepted and changes nothing.
 */
export async function viewConfig(session: Session, line: KubectlLine): Promise<void> {
  checkFormat(line);
  const document = parseYaml((await readFileAtMost(session.kubeconfig, session.signal)).toString()) as Record<
    string,
    unknown
  >;
  session.print(objectText(isOn(line, "raw") ? document : masked(document), text(line, "output") ?? "yaml", []));
}

const SECRETS: ReadonlySet<string> = new Set(["client-key-data", "client-certificate-data", "token", "password"]);

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      SECRETS.has(key) ? "REDACTED" : key === "certificate-authority-data" ? "DATA+OMITTED" : masked(one),
    ]),
  );
}

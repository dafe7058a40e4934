import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { eachOf } from "../builder.js";
import { readObjects } from "../files.js";
import { type KubectlLine, text, texts } from "../flags.js";
import { lineError, NO_FILES } from "../line-error.js";
import { nameOf, pathOf, resourceOf } from "../resources.js";
import type { Session } from "../session.js";

/**
 * `kubectl create -f`, `create --raw PATH -f`.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/create/create.go (RunCreate).
 */
export async function create(session: Session, line: KubectlLine): Promise<void> {
  const { client, signal, context } = session;
  const files = texts(line, "filename");
  if (files.length === 0) throw lineError(line.verb, NO_FILES);
  const raw = text(line, "raw");
  await eachOf(session, await readObjects(context, files), async (object) => {
    if (raw === undefined) return createObject(session, object);
    const answer = await client.expect({ method: "POST", path: raw, body: object, signal });
    session.print(`${JSON.stringify(answer)}\n`);
  });
}

/** Creates one object. @param done the text after its name */
export async function createObject(
  session: Session,
  object: KubeObject,
  { done = "created", fieldManager = "kubectl-create" } = {},
): Promise<void> {
  const { client, signal } = session;
  const known = await resourceOf(client, object, signal);
  const path = pathOf(known, object.metadata?.namespace ?? session.namespace);
  const query = { fieldManager, fieldValidation: "Strict" };
  const created = await client.expect<KubeObject>({ method: "POST", path, query, body: object, signal });
  session.print(`${nameOf(known, created.metadata.name ?? "")} ${done}\n`);
}

/** `kubectl create namespace|configmap|quota NAME`, `create secret generic|docker-registry NAME`. */
export async function createNamed(session: Session, line: KubectlLine): Promise<void> {
  const [name] = line.words;
  if (name === undefined || line.words.length > 1) {
    throw lineError(line.verb, `exactly one NAME is required, got ${line.words.length}`);
  }
  const metadata = { name };
  await createObject(session, { ...GENERATORS[line.verb]?.(line), metadata } as KubeObject);
}

type Generator = (
  line: KubectlLine,
) => { readonly apiVersion: string; readonly kind: string } & Record<string, unknown>;

/** Mirrors create_namespace.go, create_configmap.go, create_secret.go, create_secret_docker.go and create_quota.go. */
const GENERATORS: Readonly<Record<string, Generator>> = {
  "create namespace": () => ({ apiVersion: "v1", kind: "Namespace" }),
  "create configmap": (line) => ({ apiVersion: "v1", kind: "ConfigMap", ...dataOf(literals(line)) }),
  "create secret generic": (line) => {
    const data = literals(line).map(([key, value]): Pair => [key, base64(value)]);
    return { apiVersion: "v1", kind: "Secret", type: text(line, "type") ?? "Opaque", ...dataOf(data) };
  },
  "create secret docker-registry": (line) => {
    const [server = "https://index.docker.io/v1/", username = "", password = ""] = [
      "server",
      "username",
      "password",
    ].map((one) => text(line, `docker-${one}`));
    const auths = { [server]: { username, password, auth: base64(`${username}:${password}`) } };
    const data = { ".dockerconfigjson": base64(JSON.stringify({ auths })) };
    return { apiVersion: "v1", kind: "Secret", type: "kubernetes.io/dockerconfigjson", data };
  },
  "create quota": (line) => {
    const hard = Object.fromEntries(pairsOf(text(line, "hard")?.split(",") ?? [], "--hard"));
    return { apiVersion: "v1", kind: "ResourceQuota", spec: { hard } };
  },
};

type Pair = readonly [key: string, value: string];

const literals = (line: KubectlLine): readonly Pair[] => pairsOf(texts(line, "from-literal"), "--from-literal");

const dataOf = (pairs: readonly Pair[]) => (pairs.length === 0 ? {} : { data: Object.fromEntries(pairs) });

const base64 = (value: string): string => Buffer.from(value).toString("base64");

/** `KEY=VALUE` words of one flag. @throws LabError USAGE */
export function pairsOf(words: readonly string[], flag: string): readonly Pair[] {
  return words.map((word): Pair => {
    const at = word.indexOf("=");
    if (at < 1) throw lineError("", ["kubectlNeedsPair", { what: flag, word }]);
    return [word.slice(0, at), word.slice(at + 1)];
  });
}

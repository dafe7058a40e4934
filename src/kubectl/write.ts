import type { KubeObject } from "../apimachinery/api/meta.js";
import { parseYamlDocuments } from "../apimachinery/yaml.js";
import { CSRS, objectPath, PODS } from "../client-go/rest/paths.js";
import { fileErrorMessage } from "../i18n/file-error.js";
import { type Message, MessageError } from "../i18n/message-error.js";
import { defined } from "../util/defined.js";
import { messageOf } from "../util/errors.js";
import { pathFrom } from "../util/paths.js";
import { readAtMost, readFileAtMost } from "../util/read-at-most.js";
import { type KubectlLine, text, unknown } from "./arguments.js";
import { objectText } from "./output.js";
import { namedBy } from "./read.js";
import { nameOf, pathOf, refOf, resourceOf } from "./resources.js";
import type { KubectlContext, Session } from "./session.js";

/** `kubectl create -f`, `apply -f`, `replace -f`; `create namespace NAME`; `create --raw PATH -f`. */
export async function writeFiles(session: Session, line: KubectlLine): Promise<string> {
  const { client, signal } = session;
  const { verb, words, files } = line;
  if (verb === "create" && /^(ns|namespace)$/.test(words[0] ?? "")) {
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: words[1] ?? "" } };
    await client.expect({ method: "POST", path: "/api/v1/namespaces", body, signal });
    return `namespace/${words[1]} created\n`;
  }
  if (files.length === 0 || words.length > 0) throw unknown(`${verb} ${words.join(" ")}`.trim());
  let out = "";
  const raw = text(line, "raw");
  for (const object of await readObjects(session.context, files)) {
    if (raw !== undefined) {
      const answer = await client.expect({ method: "POST", path: raw, body: object, signal });
      out += `${JSON.stringify(answer)}\n`;
    } else out += await writeOne(session, verb, object);
  }
  return out;
}

async function writeOne(session: Session, verb: string, object: KubeObject): Promise<string> {
  const { client, signal } = session;
  const known = await resourceOf(client, object as { apiVersion: string; kind: string }, signal);
  const namespace = object.metadata?.namespace ?? session.namespace;
  const name = object.metadata?.name ?? "";
  const said = (done: string) => `${nameOf(known, name)} ${done}\n`;
  const path = objectPath(refOf(known, namespace), name);
  if (verb === "replace") {
    await client.expect({ method: "PUT", path, body: object, signal });
    return said("replaced");
  }
  if (verb === "apply" && (await client.request({ method: "GET", path, signal })).status === 200) {
    const contentType = "application/merge-patch+json";
    await client.expect({ method: "PATCH", path, body: object, contentType, signal });
    return said("configured");
  }
  await client.expect({ method: "POST", path: pathOf(known, namespace), body: object, signal });
  return said("created");
}

type Reading = Pick<KubectlContext, "streams" | "cwd" | "signal">;

/** The objects in YAML files; `-` is stdin. @throws LabError BAD_FILE */
export async function readObjects(context: Reading, files: readonly string[]): Promise<readonly KubeObject[]> {
  const objects: KubeObject[] = [];
  for (const file of files) {
    const content = await readText(context, file);
    for (const value of documentsOf(content, file)) {
      if (typeof value === "object" && value !== null) objects.push(value as KubeObject);
    }
  }
  if (objects.length === 0)
    throw new MessageError("BAD_FILE", ["noObjects", { files: files.join(", ") }], ["noObjectsHint"]);
  return objects;
}

async function readText({ streams, cwd, signal }: Reading, file: string): Promise<string> {
  try {
    const bytes = file === "-" ? readAtMost(streams.stdin) : readFileAtMost(pathFrom(cwd, file), signal);
    return (await bytes).toString();
  } catch (cause) {
    signal.throwIfAborted();
    throw unreadable(file, fileErrorMessage(cause), cause);
  }
}

function documentsOf(content: string, file: string): readonly unknown[] {
  try {
    return parseYamlDocuments(content);
  } catch (cause) {
    throw unreadable(file, { verbatim: messageOf(cause) }, cause);
  }
}

function unreadable(file: string, why: Message, cause: unknown): MessageError {
  return new MessageError("BAD_FILE", ["pathUnreadable", { file, why }], ["nameAFile"], { cause });
}

/** `kubectl run NAME --image I [--restart P] [--image-pull-policy P] [-- args]`. */
export async function run(session: Session, line: KubectlLine): Promise<string> {
  const name = line.words[0] ?? "";
  const image = text(line, "image");
  if (image === undefined || name === "") throw unknown("run", "kubectlRunNeeds");
  const args = line.rest.length === 0 ? {} : { args: line.rest };
  const restartPolicy = text(line, "restart") ?? "Always";
  const imagePullPolicy = text(line, "image-pull-policy");
  const metadata = { name, labels: { run: name } };
  const body = {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: { containers: [{ name, image, ...args, ...defined({ imagePullPolicy }) }], restartPolicy },
  };
  await session.client.expect({
    method: "POST",
    path: `/api/v1/namespaces/${session.namespace}/pods`,
    body,
    signal: session.signal,
  });
  return `pod/${name} created\n`;
}

const GONE_LIMIT_MS = 60_000;
const LOOK_AGAIN_MS = 100;

/** `kubectl delete`: waits until the object is gone, unless `--wait=false`. */
export async function remove(session: Session, line: KubectlLine): Promise<string> {
  const { client, signal, context } = session;
  let out = "";
  const words = [...line.words];
  for (const object of line.files.length === 0 ? [] : await readObjects(session.context, line.files)) {
    words.push(`${object.kind}/${object.metadata?.name}`);
  }
  const grace = text(line, "grace-period");
  const query = defined({ gracePeriodSeconds: grace });
  const waits = !context.env["KUBELAB_NO_WAIT"] && line.flags["wait"] !== undefined;
  for (const { known, names, namespace } of await namedBy(session, line, words)) {
    const all =
      names.length > 0 || line.flags["all"] === undefined ? names : await namesIn(session, pathOf(known, namespace));
    for (const name of all) {
      const path = objectPath(refOf(known, namespace), name);
      const answer = await client.request({ method: "GET", path, signal });
      if (answer.status === 404 && line.flags["ignore-not-found"] !== undefined) continue;
      await client.expect({ method: "DELETE", path, query, signal });
      out += `${nameOf(known, name).replace("/", ' "')}" deleted\n`;
      if (!waits) continue;
      const { clock } = context.session({});
      for (let waitedMs = 0; waitedMs < GONE_LIMIT_MS; waitedMs += LOOK_AGAIN_MS) {
        if ((await client.request({ method: "GET", path, signal })).status === 404) break;
        await clock.sleep(LOOK_AGAIN_MS, signal);
      }
    }
  }
  return out;
}

async function namesIn({ client, signal }: Session, path: string): Promise<readonly string[]> {
  const { items } = await client.expect<{ items: readonly KubeObject[] }>({ method: "GET", path, signal });
  return items.map(({ metadata }) => metadata?.name ?? "");
}

/** `label`, `annotate`: `key=value`, `key-`. */
export async function mark(session: Session, line: KubectlLine, field: "labels" | "annotations"): Promise<string> {
  const isPair = (word: string) => /^[^=]+=/.test(word) || word.endsWith("-");
  const pairs = line.words.filter(isPair).map((word): [string, string | null] => {
    const at = word.indexOf("=");
    return at < 0 ? [word.slice(0, -1), null] : [word.slice(0, at), word.slice(at + 1)];
  });
  const words = line.words.filter((word) => !isPair(word));
  const body = { metadata: { [field]: Object.fromEntries(pairs) } };
  if (line.flags["local"] !== undefined) {
    const [object] = await readObjects(session.context, line.files);
    const metadata = { ...object?.metadata, [field]: { ...object?.metadata?.[field], ...Object.fromEntries(pairs) } };
    return objectText({ ...object, metadata }, text(line, "output") ?? "yaml", []);
  }
  return patchAll(session, line, words, body, field === "labels" ? "labeled" : "annotated");
}

/** `cordon`, `uncordon`. */
export function cordon(session: Session, line: KubectlLine): Promise<string> {
  const isOn = line.verb === "cordon";
  const body = { spec: { unschedulable: isOn ? true : null } };
  return patchAll(session, line, ["node", ...line.words], body, `${line.verb}ed`);
}

/** `taint node N key=value:Effect`, `key:Effect-`, `key-`. */
export async function taint(session: Session, line: KubectlLine): Promise<string> {
  const [kind = "", name = "", ...specs] = line.words;
  const path = `/api/v1/nodes/${name}`;
  const node = await session.client.expect<{ spec?: { taints?: readonly Taint[] } }>({
    method: "GET",
    path,
    signal: session.signal,
  });
  let taints = [...(node.spec?.taints ?? [])];
  for (const spec of specs) {
    const match = /^([^=:]+?)(?:=([^:]*?))?(?::(\w+))?(-)?$/.exec(spec);
    if (match === null) throw unknown(spec, "kubectlTaintUnknown");
    const [, key = "", value, effect, removes] = match;
    taints = taints.filter((one) => one.key !== key || (effect !== undefined && one.effect !== effect));
    if (removes === undefined) taints.push({ key, effect: effect ?? "NoSchedule", ...defined({ value }) });
  }
  return patchAll(session, line, [kind, name], { spec: { taints } }, "tainted");
}

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

async function patchAll(
  session: Session,
  line: KubectlLine,
  words: readonly string[],
  body: unknown,
  done: string,
): Promise<string> {
  let out = "";
  for (const { known, names, namespace } of await namedBy(session, line, words)) {
    for (const name of names) {
      const path = objectPath(refOf(known, namespace), name);
      const contentType = "application/merge-patch+json";
      await session.client.expect({ method: "PATCH", path, body, contentType, signal: session.signal });
      out += `${nameOf(known, name)} ${done}\n`;
    }
  }
  return out;
}

/** `certificate approve|deny NAME`. */
export async function certificate(session: Session, line: KubectlLine): Promise<string> {
  const { client, signal, context } = session;
  const [verdict = "", ...names] = line.words;
  if (verdict !== "approve" && verdict !== "deny") throw unknown(`certificate ${verdict}`);
  let out = "";
  for (const word of names) {
    const name = word.replace(/^[^/]*\//, "");
    const csr = await client.expect<KubeObject & { status?: { conditions?: readonly unknown[] } }>({
      method: "GET",
      path: objectPath(CSRS, name),
      signal,
    });
    const now = new Date(context.session({}).clock.now()).toISOString().replace(/\.\d+/, "");
    const isApproved = verdict === "approve";
    const condition = {
      type: isApproved ? "Approved" : "Denied",
      status: "True",
      reason: isApproved ? "KubectlApprove" : "KubectlDeny",
      message: `This CSR was ${isApproved ? "approved" : "denied"} by kubectl certificate ${verdict}.`,
      lastUpdateTime: now,
    };
    const body = { ...csr, status: { ...csr.status, conditions: [...(csr.status?.conditions ?? []), condition] } };
    await client.expect({ method: "PUT", path: objectPath(CSRS, name, "approval"), body, signal });
    out += `certificatesigningrequest.certificates.k8s.io/${name} ${isApproved ? "approved" : "denied"}\n`;
  }
  return out;
}

/** `logs POD`. */
export async function logs(session: Session, line: KubectlLine): Promise<string> {
  const name = (line.words[0] ?? "").replace(/^pods?\//, "");
  const query = {
    container: text(line, "container"),
    tailLines: text(line, "tail"),
    previous: line.flags["previous"] === undefined ? undefined : true,
  };
  const path = objectPath({ ...PODS, namespace: session.namespace }, name, "log");
  return String(await session.client.expect({ method: "GET", path, query, signal: session.signal }));
}

import { readFileSync } from "node:fs";
import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import { tokenSecret } from "../../src/staging/cluster-bootstrap/secret.js";
import { createCertificateRequest } from "../../src/staging/pki/csr.js";
import { generatePrivateKey } from "../../src/staging/pki/keys.js";
import { SystemClock } from "../../src/util/clock.js";
import { Face, type Identity } from "../cluster/apiserver/server/support.js";
import { REAL } from "./recorder.js";

/** One request of the recorded kubelet. */
export interface KubeletRequest {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** with the bootstrap token; else with the node's certificate */
  readonly authorization?: string;
  readonly body?: unknown;
  readonly status: number;
  /** how long the response took */
  readonly seconds?: number;
}

interface Mark {
  readonly at: number;
  readonly mark: string;
}

export function recordedKubelet(): readonly (KubeletRequest | Mark)[] {
  const { timeline } = JSON.parse(readFileSync(`${REAL}/kubelet-client.json`, "utf8")) as {
    timeline: (KubeletRequest | Mark)[];
  };
  return timeline.map((entry, i) => {
    const [before, after] = [timeline[i - 1], timeline[i + 1]];
    if (before !== undefined && overtakes(entry, before)) return before;
    return after !== undefined && overtakes(after, entry) ? after : entry;
  });
}

/** Durations are recorded in hundredths. */
const ROUNDED_BY_SECONDS = 0.006;

/** A request that arrived during a creation and got its response first. */
function overtakes(entry: KubeletRequest | Mark, before: KubeletRequest | Mark): boolean {
  if (isMark(entry) || isMark(before) || before.method !== "POST" || entry.status !== 404) return false;
  return before.at + (before.seconds ?? 0) + ROUNDED_BY_SECONDS > entry.at;
}

export function isMark(entry: KubeletRequest | Mark): entry is Mark {
  return "mark" in entry;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
}

const PODS = "/api/v1/namespaces/default/pods";
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const TOKEN = { id: "abcdef", secret: "0123456789abcdef" };
/** Controllers and the node's rights follow within moments; a real kubelet sends its requests later than the replay. */
const SETTLED_MS = 3000;
const NOT_YET_MS = 20;

/**
 * Sends the requests of a real kubelet again in order, without pauses, with the recorder's actions between them. uids,
 * resourceVersions and the request's generated name are those of this cluster.
 */
export class KubeletStory {
  readonly clock = new SystemClock();
  #node: Identity = { token: `${TOKEN.id}.${TOKEN.secret}` };
  #key: Awaited<ReturnType<typeof generatePrivateKey>> | undefined;
  /** recorded -> here */
  readonly #names = new Map<string, string>();
  /** the last response for an object or a list, by path */
  readonly #seen = new Map<string, KubeObject>();

  private constructor(readonly face: Face) {}

  static async begin(): Promise<KubeletStory> {
    const face = await Face.open({ clock: new SystemClock(), withoutControllers: [], likeRecorded: true });
    const story = new KubeletStory(face);
    const groups = ["system:bootstrappers:kubeadm:default-node-token"];
    const secret = tokenSecret({ token: TOKEN, usages: ["authentication", "signing"], groups });
    await story.#admin("POST", "/api/v1/namespaces/kube-system/secrets", secret);
    return story;
  }

  /** Repeats a request until the response is the recorded one or the time to settle is over. */
  async send(request: KubeletRequest): Promise<Answered> {
    const untilMs = this.clock.now() + SETTLED_MS;
    for (;;) {
      const answered = await this.#sendOnce(request);
      // Only reads are repeated: writes have an effect.
      if (answered.status === request.status || request.method !== "GET" || this.clock.now() > untilMs) return answered;
      await this.clock.sleep(NOT_YET_MS);
    }
  }

  async #sendOnce(request: KubeletRequest): Promise<Answered> {
    const { method } = request;
    const path = this.#path(request.path);
    const body = await this.#body(request, path);
    const { "Content-Type": type = "application/json", Accept = "application/json" } = request.headers;
    const headers = { accept: Accept, "content-type": type };
    const asked = { method, headers, as: this.#node, ...(body === undefined ? {} : { body }) };
    if (/[?&]watch=true/.test(path)) {
      const response = await this.face.open(path, asked);
      response.destroy();
      return { status: response.statusCode ?? 0, text: "" };
    }
    const { status, text, body: answer } = await this.face.ask(path, asked);
    if (status < 300) this.#remember(request, path, answer as KubeObject);
    return { status, text };
  }

  #path(path: string): string {
    let here = path;
    for (const [recorded, name] of this.#names) here = here.replaceAll(recorded, name);
    const list = this.#seen.get(here.split("?")[0] ?? "");
    return here.replace(/(resourceVersion)=[1-9]\d*/, `$1=${list?.metadata.resourceVersion ?? "0"}`);
  }

  /** The body with this cluster's uids and resourceVersions. */
  async #body({ method, body }: KubeletRequest, path: string): Promise<unknown> {
    if (body === undefined) return undefined;
    const copy = structuredClone(body) as Body;
    if (path === CSRS) copy.spec.request = await this.#ownRequest();
    const own = this.#seen.get(bare(path));
    if (method === "PUT" && copy.metadata.uid !== undefined) {
      copy.metadata.uid = own?.metadata.uid;
      copy.metadata.resourceVersion = own?.metadata.resourceVersion;
    }
    if (method === "PATCH" && copy.metadata?.uid !== undefined) copy.metadata.uid = await this.#uid(bare(path));
    if (copy.preconditions?.uid !== undefined) copy.preconditions.uid = await this.#uid(bare(path));
    for (const owner of copy.metadata?.ownerReferences ?? [])
      owner.uid = await this.#uid(`/api/v1/nodes/${owner.name}`);
    const bound = copy.spec?.boundObjectRef;
    if (bound !== undefined) bound.uid = await this.#uid(`${PODS}/${bound.name}`);
    return copy;
  }

  async #uid(path: string): Promise<string> {
    const { body } = await this.face.ask(path.replace(/\/status$/, ""));
    return (body as KubeObject).metadata.uid ?? "none";
  }

  #remember({ method, path }: KubeletRequest, here: string, answer: KubeObject): void {
    if (method === "POST" && here === CSRS) this.#csr = answer.metadata.name ?? "";
    const name = /metadata\.name%3D(csr-\w+)/.exec(path)?.[1];
    if (name !== undefined) this.#names.set(name, this.#csr);
    const isCreated = method === "POST" && answer.metadata.name !== undefined;
    this.#seen.set(isCreated ? `${bare(here)}/${answer.metadata.name}` : bare(here), answer);
  }
  #csr = "";

  async #ownRequest(): Promise<string> {
    this.#key = await generatePrivateKey("ec");
    const subject = { commonName: "system:node:real-2", organization: ["system:nodes"] };
    return Buffer.from(createCertificateRequest(this.#key, { subject })).toString("base64");
  }

  /** The node switches from the token to its certificate once that is issued. */
  async takeCertificate(): Promise<void> {
    const untilMs = this.clock.now() + SETTLED_MS;
    while (this.clock.now() < untilMs) {
      const { body } = await this.face.ask(`${CSRS}/${this.#csr}`);
      const certificate = (body as { status: { certificate?: string } }).status.certificate;
      if (certificate !== undefined) {
        const key = this.#key?.export({ type: "pkcs8", format: "pem" }).toString() ?? "";
        this.#node = { cert: Buffer.from(certificate, "base64").toString(), key };
        return;
      }
      await this.clock.sleep(NOT_YET_MS);
    }
    throw new Error("no certificate was issued");
  }

  /** The recorder's action at a mark. */
  async act(mark: string): Promise<void> {
    const pod = /(kw-\d)/.exec(mark)?.[1];
    if (mark.startsWith("admin creates pod") && pod !== undefined) {
      if (pod === "kw-1") await this.#admin("POST", "/api/v1/namespaces/default/configmaps", configMap("kw"));
      await this.#admin("POST", PODS, podObject(pod, pod === "kw-1" ? "kw" : undefined, pod === "kw-3"));
    } else if (mark.startsWith("admin deletes kw-")) {
      const options = mark.includes("grace 0") ? { gracePeriodSeconds: 0 } : undefined;
      await this.#admin("DELETE", `${PODS}/${pod}`, options);
    } else if (mark.startsWith("a manifest appears")) {
      await this.#admin("DELETE", `${PODS}/kw-4`, { gracePeriodSeconds: 0 });
    } else if (mark.startsWith("admin deletes the mirror pod")) {
      await this.#admin("DELETE", `${PODS}/kw-static-real-2`);
    } else if (mark.startsWith("admin deletes the node")) {
      await this.#admin("DELETE", "/api/v1/nodes/real-2");
      await this.#gone("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/real-2");
    }
  }

  async #gone(path: string): Promise<void> {
    const untilMs = this.clock.now() + SETTLED_MS;
    while ((await this.face.ask(path)).status !== 404) {
      if (this.clock.now() > untilMs) throw new Error(`${path} stays`);
      await this.clock.sleep(NOT_YET_MS);
    }
  }

  async #admin(method: string, path: string, body?: unknown): Promise<void> {
    const { status, text } = await this.face.ask(path, { method, ...(body === undefined ? {} : { body }) });
    if (status >= 300) throw new Error(`${method} ${path}: ${text}`);
  }

  close(): Promise<void> {
    return this.face.close();
  }
}

/** The replay's changes of a body. */
interface Body {
  metadata: {
    uid?: string | undefined;
    resourceVersion?: string | undefined;
    ownerReferences?: { name: string; uid: string }[];
  };
  spec: { request?: string; boundObjectRef?: { name: string; uid: string } };
  preconditions?: { uid?: string };
}

function bare(path: string): string {
  return path.split("?")[0] ?? "";
}

function configMap(name: string) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { k: "v" } };
}

function podObject(name: string, configMapName: string | undefined, runsOnce: boolean) {
  const volumes = configMapName === undefined ? [] : [{ name: "v", configMap: { name: configMapName } }];
  const containers = [{ name: "c", image: "busybox:1.35", command: ["true"] }];
  const restartPolicy = runsOnce ? "Never" : "Always";
  const spec = { nodeName: "real-2", terminationGracePeriodSeconds: 5, restartPolicy, containers, volumes };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

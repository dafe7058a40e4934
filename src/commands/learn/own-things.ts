import { base64Text, type CertificateSigningRequest } from "../../api/certificates.js";
import type { KubeObject } from "../../api/meta.js";
import { statusMessage } from "../../client/answers.js";
import type { KubeClient } from "../../client/client.js";
import { CSRS, collectionPath, NODE_LEASES, NODES, objectPath, PODS, withQuery } from "../../client/paths.js";
import type { Say } from "../../labs/catalogue.js";
import { SpokenError } from "../../labs/said-error.js";
import { parseCertificateRequestPem } from "../../pki/csr.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";

const NODE_PATH = `${collectionPath(NODES)}/`;
/** What goes away by itself in the end, as a namespace, may take so long. ms */
const GONE_LIMIT_MS = 60_000;
const LOOK_AGAIN_MS = 250;

export interface OwnThingsDeps {
  readonly client: KubeClient;
  readonly wall: Clock;
  readonly say: Say;
}

interface List<T> {
  readonly items: readonly T[];
}

/**
 * What a lab makes on a cluster that is in use. Nothing of it may be there before, so whatever has one of these names
 * afterwards is the lab's, and is taken away: nothing else is ever touched.
 */
export class OwnThings {
  readonly #earlierCsrs: ReadonlySet<string>;

  private constructor(
    readonly deps: OwnThingsDeps,
    readonly paths: readonly string[],
    earlier: readonly CertificateSigningRequest[],
  ) {
    this.#earlierCsrs = new Set(earlier.map(({ metadata }) => metadata.uid ?? ""));
  }

  /** @throws SpokenError FAILED when one of them is there already */
  static async claim(deps: OwnThingsDeps, paths: readonly string[], signal: AbortSignal): Promise<OwnThings> {
    const { client, say } = deps;
    const there: string[] = [];
    for (const path of paths) {
      const { status } = await client.request({ method: "GET", path, signal });
      if (status < 300) there.push(nameOf(path));
    }
    if (there.length > 0) {
      throw new SpokenError("FAILED", say("ownNameTaken", { names: there.join(", ") }), say("ownNameTakenHint"));
    }
    return new OwnThings(deps, paths, await certificateRequests(client, signal));
  }

  /** Takes away all of it, whatever has come of it. @returns what could not be taken away, in words; none: all is gone */
  async remove(): Promise<readonly string[]> {
    const left: string[] = [];
    const note = async (path: string) => {
      const why = await this.#delete(path).catch(wordsOf);
      if (why !== undefined) left.push(`${nameOf(path)}: ${why}`);
    };
    // A node that is gone cannot delete its pods any more: they come first.
    const nodes = this.paths.filter((path) => path.startsWith(NODE_PATH)).map((path) => path.slice(NODE_PATH.length));
    for (const path of this.paths.filter((one) => !one.startsWith(NODE_PATH))) await note(path);
    const ofNodes = await this.#pathsOf(nodes).catch((error: unknown) => {
      left.push(`${nodes.join(", ")}: ${wordsOf(error)}`);
      return [];
    });
    for (const path of ofNodes) await note(path);
    return left;
  }

  /** The nodes, and what only they have: pods, certificate requests, leases. */
  async #pathsOf(nodes: readonly string[]): Promise<readonly string[]> {
    const { client } = this.deps;
    const paths: string[] = [];
    for (const node of nodes) {
      const path = withQuery(collectionPath(PODS), { fieldSelector: `spec.nodeName=${node}` });
      const { body } = await client.request<List<KubeObject>>({ method: "GET", path });
      for (const { metadata } of body.items ?? []) {
        paths.push(objectPath({ ...PODS, namespace: metadata.namespace ?? "default" }, metadata.name ?? ""));
      }
    }
    for (const csr of nodes.length === 0 ? [] : await certificateRequests(client)) {
      if (this.#earlierCsrs.has(csr.metadata.uid ?? "") || !nodes.some((node) => isOfNode(csr, node))) continue;
      paths.push(objectPath(CSRS, csr.metadata.name ?? ""));
    }
    return [...paths, ...nodes.flatMap((node) => [objectPath(NODES, node), objectPath(NODE_LEASES, node)])];
  }

  /** @returns undefined: it is gone; else why it is not */
  async #delete(path: string): Promise<string | undefined> {
    const { client, wall } = this.deps;
    await this.#letGo(path);
    const answer = await client.request({ method: "DELETE", path: withQuery(path, { gracePeriodSeconds: 0 }) });
    if (answer.status === 404) return undefined;
    if (answer.status >= 300 && answer.status !== 409) return statusMessage(answer);
    const untilMs = wall.now() + GONE_LIMIT_MS;
    for (;;) {
      const { status } = await client.request({ method: "GET", path });
      if (status === 404) return undefined;
      if (wall.now() > untilMs) return String(status);
      await wall.sleep(LOOK_AGAIN_MS);
    }
  }

  /** A pod that is held by a finalizer is not deleted by a DELETE. */
  async #letGo(path: string): Promise<void> {
    if (!path.includes("/pods/")) return;
    const { client } = this.deps;
    const { status, body } = await client.request<KubeObject>({ method: "GET", path });
    const { finalizers = [] } = (status < 300 ? body.metadata : {}) as { readonly finalizers?: readonly string[] };
    if (finalizers.length === 0) return;
    const contentType = "application/merge-patch+json";
    await client.request({ method: "PATCH", path, contentType, body: { metadata: { finalizers: null } } });
  }
}

/** `nodes/atlas`, `secrets/bootstrap-token-abc123` */
function nameOf(path: string): string {
  return path.split("/").slice(-2).join("/");
}

async function certificateRequests(
  client: KubeClient,
  signal?: AbortSignal,
): Promise<readonly CertificateSigningRequest[]> {
  const given = signal === undefined ? {} : { signal };
  const path = collectionPath(CSRS);
  const { body, status } = await client.request<List<CertificateSigningRequest>>({ method: "GET", path, ...given });
  return status < 300 ? body.items : [];
}

/** The cluster may be out of reach by now: the rest of the lab's end goes on. @throws what is no LabError */
function wordsOf(error: unknown): string {
  if (!(error instanceof LabError)) throw error;
  return error.message;
}

/** Asked for by the node, or for it. */
function isOfNode({ spec }: CertificateSigningRequest, node: string): boolean {
  const user = `system:node:${node}`;
  if (spec.username === user) return true;
  try {
    return parseCertificateRequestPem(base64Text(spec.request)).subject.commonName === user;
  } catch {
    return false;
  }
}

import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { KubeRequest } from "../../../src/client/client.js";
import { OwnThings } from "../../../src/commands/learn/own-things.js";
import { sayIn } from "../../../src/labs/catalogue.js";
import { createCertificateRequest } from "../../../src/pki/csr.js";
import { generatePrivateKey } from "../../../src/pki/keys.js";
import { LabError } from "../../../src/util/errors.js";
import { FakeClock } from "../../support/fake-clock.js";
import { MemoryClient } from "../../support/memory-client.js";

const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const PODS = "/api/v1/namespaces/default/pods";

interface Thing {
  readonly metadata: { readonly name: string; readonly uid?: string; finalizers?: readonly string[] | undefined };
  readonly spec?: object;
}

/** An API server that knows GET, lists, DELETE and the PATCH that takes finalizers away. */
class Cluster {
  readonly things = new Map<string, Thing>();
  isAway = false;
  readonly client = new MemoryClient((request) => (this.isAway ? AWAY : this.#answer(request)));

  add(collection: string, name: string, more: { readonly spec?: object; readonly finalizers?: string[] } = {}): void {
    const { spec, finalizers } = more;
    this.things.set(`${collection}/${name}`, { metadata: { name, uid: name, finalizers }, spec: spec ?? {} });
  }

  #answer({ method, path: whole }: KubeRequest) {
    const [path = "", query = ""] = whole.split("?");
    const thing = this.things.get(path);
    if (method === "GET" && thing === undefined && /\/(pods|certificatesigningrequests)$/.test(path)) {
      const node = /spec\.nodeName(?:=|%3D)([\w-]+)/.exec(query)?.[1];
      const isThere = (one: Thing) => node === undefined || (one.spec as { nodeName?: string }).nodeName === node;
      const kind = path.split("/").at(-1) ?? "";
      const entries = [...this.things].filter(([key, one]) => key.split("/").at(-2) === kind && isThere(one));
      return { status: 200, body: { items: entries.map(([, one]) => one) } };
    }
    if (thing === undefined) return { status: 404, body: { kind: "Status", message: "not found" } };
    if (method === "PATCH") thing.metadata.finalizers = undefined;
    if (method === "DELETE" && thing.metadata.finalizers === undefined) this.things.delete(path);
    return { status: 200, body: thing };
  }
}

const AWAY = new LabError("CLUSTER_UNREACHABLE", "connection refused", "Start it.");
const never = new AbortController().signal;

async function claim(cluster: Cluster, paths: readonly string[]): Promise<OwnThings> {
  return OwnThings.claim({ client: cluster.client, wall: new FakeClock(), say: sayIn("en") }, paths, never);
}

/** As the node of this name asks for its certificate. */
async function requestFor(node: string): Promise<object> {
  const subject = { commonName: `system:node:${node}`, organization: ["system:nodes"] };
  const pem = createCertificateRequest(await generatePrivateKey("ec"), { subject });
  return { username: "system:bootstrap:abc123", request: Buffer.from(pem).toString("base64") };
}

describe("what a lab makes on a cluster in use", () => {
  test("it goes, with what is its node's, and everything else stays", async () => {
    const cluster = new Cluster();
    cluster.add("/api/v1/nodes", "theirs");
    cluster.add(PODS, "theirs", { spec: { nodeName: "theirs" } });
    cluster.add(CSRS, "theirs", { spec: await requestFor("theirs") });
    cluster.add(CSRS, "earlier", { spec: await requestFor("mine") });
    const before = [...cluster.things.keys()];
    const things = await claim(cluster, [`${PODS}/held`, "/api/v1/nodes/mine"]);
    cluster.add(PODS, "held", { spec: { nodeName: "mine" }, finalizers: ["example.com/hold"] });
    cluster.add(PODS, "mirror-mine", { spec: { nodeName: "mine" } });
    cluster.add(CSRS, "mine", { spec: await requestFor("mine") });
    cluster.add(CSRS, "renewed", { spec: { username: "system:node:mine", request: "" } });
    cluster.add(CSRS, "meanwhile", { spec: await requestFor("theirs") });
    cluster.add(LEASES, "mine");
    cluster.add("/api/v1/nodes", "mine");
    assert.deepEqual(await things.remove(), []);
    assert.deepEqual([...cluster.things.keys()], [...before, `${CSRS}/meanwhile`]);
  });

  test("a name that is taken: nothing begins, and nothing is written", async () => {
    const cluster = new Cluster();
    cluster.add("/api/v1/nodes", "mine");
    await assert.rejects(claim(cluster, ["/api/v1/nodes/mine"]), /this already.*nodes\/mine/);
    assert.ok(cluster.client.requests.every(({ method }) => method === "GET"));
  });

  test("what cannot be taken away is said", async () => {
    const cluster = new Cluster();
    const things = await claim(cluster, [`${PODS}/a`, "/api/v1/nodes/mine"]);
    cluster.isAway = true;
    assert.deepEqual(await things.remove(), ["pods/a: connection refused", "mine: connection refused"]);
  });
});

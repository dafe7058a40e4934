import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, test } from "vitest";
import { OwnObjects } from "../../../../../src/lab/labs/environment/own/objects.js";
import { findRecords, OwnNote } from "../../../../../src/lab/labs/environment/own/record.js";
import type { KubeRequest } from "../../../../../src/staging/client-go/rest/client.js";
import { createCertificateRequest } from "../../../../../src/staging/pki/csr.js";
import { generatePrivateKey } from "../../../../../src/staging/pki/keys.js";
import { LabError } from "../../../../../src/util/errors.js";
import { sayIn } from "../../../../../src/util/i18n/catalogue.js";
import { FakeClock, untilTrue } from "../../../../support/fake-clock.js";
import { MemoryClient } from "../../../../support/memory-client.js";

const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const PODS = "/api/v1/namespaces/default/pods";

interface Thing {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    finalizers?: readonly string[] | undefined;
  };
  readonly spec?: object;
  readonly data?: object;
}

/** An API server that knows GET, lists, DELETE and the PATCH that takes finalizers away. */
class Cluster {
  readonly things = new Map<string, Thing>();
  isAway = false;
  readonly wall = new FakeClock();
  #count = 0;
  readonly client = new MemoryClient((request) => (this.isAway ? AWAY : this.#answer(request)));

  add(
    collection: string,
    name: string,
    more: { readonly spec?: object; readonly data?: object; readonly finalizers?: string[] } = {},
  ): void {
    const { spec, data, finalizers } = more;
    const creationTimestamp = new Date(this.wall.now()).toISOString();
    const metadata = { name, uid: `${name}-${++this.#count}`, creationTimestamp, finalizers };
    this.things.set(`${collection}/${name}`, { metadata, spec: spec ?? {}, data: data ?? {} });
  }

  #answer({ method, path: whole }: KubeRequest) {
    const [path = "", query = ""] = whole.split("?");
    const thing = this.things.get(path);
    if (method === "GET" && thing === undefined && /\/(pods|certificatesigningrequests|secrets)$/.test(path)) {
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

const homes: string[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

/** A lab on a cluster, and the state folder of its learner. */
class Learner {
  readonly home = mkdtempSync(join(tmpdir(), "kubelab-own-"));
  readonly env = { XDG_STATE_HOME: this.home };

  constructor(readonly cluster: Cluster) {
    homes.push(this.home);
  }

  get deps() {
    return { client: this.cluster.client, wall: this.cluster.wall, say: sayIn("en") };
  }

  claim(paths: readonly string[], pid = process.pid): Promise<OwnObjects> {
    const named = { lab: "tiny", cluster: "uid", context: "mine", server: "https://memory", flags: "--real" };
    const note = new OwnNote(this.env, this.cluster.wall, "kubelab-lab-1");
    return OwnObjects.claim(this.deps, { ...named, pid, mark: "", paths }, note, never);
  }

  /** As the next command finds it after a crash. */
  async found(): Promise<OwnObjects> {
    const [found] = await findRecords(this.env);
    assert.ok(found);
    return OwnObjects.of(this.deps, found);
  }
}

function claim(cluster: Cluster, paths: readonly string[]): Promise<OwnObjects> {
  return new Learner(cluster).claim(paths);
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
    await assert.rejects(claim(cluster, ["/api/v1/nodes/mine"]), /already has objects.*nodes\/mine/);
    assert.ok(cluster.client.requests.every(({ method }) => method === "GET"));
  });

  test("what cannot be taken away is said", async () => {
    const cluster = new Cluster();
    const things = await claim(cluster, [`${PODS}/a`, "/api/v1/nodes/mine"]);
    cluster.isAway = true;
    assert.deepEqual(await things.remove(), ["pods/a: connection refused", "mine: connection refused"]);
  });
});

describe("what a lab has made whose process was killed", () => {
  const POD = `${PODS}/mine`;
  const NODE = "/api/v1/nodes/mine";
  const SECRETS = "/api/v1/namespaces/kube-system/secrets";

  test("it is noted before anything is made, then as it is made, and not after the lab's end", async () => {
    const learner = new Learner(new Cluster());
    const { cluster } = learner;
    const things = await learner.claim([POD, NODE]);
    const made = async () => (await findRecords(learner.env)).map(({ record }) => record.made);
    assert.deepEqual(await made(), [{}]);
    things.follow();
    cluster.add(PODS, "mine");
    await cluster.wall.advance(1000);
    // It has looked, and waits again.
    await untilTrue(() => cluster.wall.sleeping === 1);
    assert.deepEqual(await made(), [{ [POD]: ["mine-1"] }]);
    assert.deepEqual(await things.remove(), []);
    assert.deepEqual(await made(), []);
    assert.equal(cluster.wall.sleeping, 0);
  });

  test("a process that lives is told from one that was killed, and from a later one of its number", async () => {
    const learner = new Learner(new Cluster());
    await learner.claim([POD], 999_999_999);
    assert.deepEqual(
      (await findRecords(learner.env)).map(({ isAlive }) => isAlive),
      [false],
    );
    await learner.claim([POD], process.pid);
    // Its mark is another one.
    assert.deepEqual(
      (await findRecords(learner.env)).map(({ isAlive }) => isAlive),
      [false],
    );
  });

  test("noted or as old as the lab: it goes, with what is its node's; what came later stays", async () => {
    const learner = new Learner(new Cluster());
    const { cluster } = learner;
    const things = await learner.claim([`${PODS}/noted`, `${PODS}/unnoted`, `${PODS}/later`, NODE]);
    cluster.add(PODS, "noted");
    cluster.add("/api/v1/nodes", "mine");
    await things.look();
    cluster.add(PODS, "unnoted");
    cluster.add(PODS, "mirror-mine", { spec: { nodeName: "mine" } });
    cluster.add(CSRS, "mine", { spec: await requestFor("mine") });
    cluster.add(LEASES, "mine");
    cluster.add(SECRETS, "bootstrap-token-abc123", { data: { description: encoded("made by kubelab to join mine") } });
    cluster.add(SECRETS, "bootstrap-token-theirs", { data: { description: encoded("made by kubeadm") } });
    await cluster.wall.advance(60_000);
    cluster.add(PODS, "later");
    const left = await learner.found();
    assert.deepEqual(await left.left(), {
      ours: [
        "pods/noted",
        "pods/unnoted",
        "nodes/mine",
        "pods/mirror-mine",
        "certificatesigningrequests/mine",
        "secrets/bootstrap-token-abc123",
        "leases/mine",
      ],
      others: ["pods/later"],
    });
    assert.deepEqual(await left.remove(), []);
    assert.deepEqual([...cluster.things.keys()], [`${SECRETS}/bootstrap-token-theirs`, `${PODS}/later`]);
  });

  test("a node of that name that somebody else has made since: nothing of it is touched", async () => {
    const learner = new Learner(new Cluster());
    const { cluster } = learner;
    await learner.claim([NODE]);
    await cluster.wall.advance(60_000);
    cluster.add("/api/v1/nodes", "mine");
    cluster.add(PODS, "theirs", { spec: { nodeName: "mine" } });
    cluster.add(LEASES, "mine");
    const before = [...cluster.things.keys()];
    const left = await learner.found();
    assert.deepEqual(await left.left(), { ours: [], others: ["nodes/mine"] });
    assert.deepEqual(await left.remove(), []);
    assert.deepEqual([...cluster.things.keys()], before);
  });
});

function encoded(text: string): string {
  return Buffer.from(text).toString("base64");
}

import assert from "node:assert/strict";
import { test } from "vitest";
import { createCsrApprovingController } from "../../../../src/cluster/controllers/certificates/approving.js";
import type { CertificateSigningRequest } from "../../../../src/staging/apimachinery/api/certificates.js";
import { createCertificateRequest } from "../../../../src/staging/pki/csr.js";
import { generatePrivateKey } from "../../../../src/staging/pki/keys.js";
import { settle } from "../../../support/fake-clock.js";
import { type Cluster, fakeCluster } from "./fakes.js";

const key = await generatePrivateKey("ec");

interface Asked {
  readonly commonName?: string;
  readonly username?: string;
  readonly signerName?: string;
  readonly status?: CertificateSigningRequest["status"];
}

function csrObject(asked: Asked = {}): CertificateSigningRequest {
  const subject = { commonName: asked.commonName ?? "system:node:n1", organization: ["system:nodes"] };
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "csr-1", uid: "u1" },
    spec: {
      request: Buffer.from(createCertificateRequest(key, { subject })).toString("base64"),
      signerName: asked.signerName ?? "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
      username: asked.username ?? "system:bootstrap:abcdef",
      groups: ["system:bootstrappers"],
      extra: { k: ["v"] },
    },
    status: asked.status ?? {},
  };
}

async function run(cluster: Cluster, body: () => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const done = createCsrApprovingController(cluster.deps).run(stop.signal);
  await settle();
  await body();
  stop.abort();
  await done;
  assert.equal(cluster.clock.sleeping, 0, "no timer is left behind");
}

const approvals = [
  // who                        CN                may                                        message; "" = stays pending
  [
    "system:bootstrap:abcdef",
    "system:node:n1",
    ["nodeclient"],
    "Auto approving kubelet client certificate after SubjectAccessReview.",
  ],
  ["system:bootstrap:abcdef", "system:node:n1", ["selfnodeclient"], ""],
  ["system:bootstrap:abcdef", "system:node:n1", [], ""],
  [
    "system:node:n1",
    "system:node:n1",
    ["selfnodeclient", "nodeclient"],
    "Auto approving self kubelet client certificate after SubjectAccessReview.",
  ],
  [
    "system:node:n1",
    "system:node:n1",
    ["nodeclient"],
    "Auto approving kubelet client certificate after SubjectAccessReview.",
  ],
  ["system:node:n1", "system:node:other", ["selfnodeclient"], ""],
] as const;
for (const [username, commonName, may, message] of approvals) {
  test(`${username} with [${may}] requests ${commonName}: ${message || "pending"}`, async () => {
    const cluster = await fakeCluster();
    for (const subresource of may) cluster.authorizer.may.add(`${username}: ${subresource}`);
    cluster.client.put(csrObject({ username, commonName }));
    await run(cluster, async () => {});
    const conditions = cluster.client.read("csr-1").status?.conditions ?? [];
    const want = message === "" ? [] : [{ type: "Approved", status: "True", reason: "AutoApproved", message }];
    assert.deepEqual(conditions, want);
    const resource = "certificatesigningrequests.certificates.k8s.io/csr-1/approval";
    assert.deepEqual(cluster.client.writes, message === "" ? [] : [resource]);
  });
}

test("the access review uses the requester from the CSR's spec", async () => {
  const cluster = await fakeCluster();
  cluster.client.put(csrObject());
  await run(cluster, async () => {});
  const [asked] = cluster.authorizer.asked;
  assert.deepEqual(asked?.user, {
    username: "system:bootstrap:abcdef",
    groups: ["system:bootstrappers"],
    extra: { k: ["v"] },
  });
  assert.equal(
    `${asked?.verb} ${asked?.apiGroup}/${asked?.resource}/${asked?.subresource}`,
    "create certificates.k8s.io/certificatesigningrequests/nodeclient",
  );
});

const untouched: readonly (readonly [string, Asked])[] = [
  ["another signer's", { signerName: "kubernetes.io/kubelet-serving" }],
  ["an approved CSR", { status: { conditions: [{ type: "Approved", status: "True" }] } }],
  ["a denied one", { status: { conditions: [{ type: "Denied", status: "True" }] } }],
  ["an issued CSR", { status: { certificate: "x" } }],
  ["an invalid CSR", { commonName: "n1" }],
];
for (const [what, asked] of untouched) {
  test(`no access review for ${what}`, async () => {
    const cluster = await fakeCluster();
    cluster.authorizer.may.add("system:bootstrap:abcdef: nodeclient");
    cluster.client.put(csrObject(asked));
    await run(cluster, async () => {});
    assert.deepEqual(cluster.authorizer.asked, []);
    assert.deepEqual(cluster.client.writes, []);
  });
}

test("a later right is noticed: checked again after 200 ms, 400 ms, 800 ms", async () => {
  const cluster = await fakeCluster();
  cluster.client.put(csrObject());
  await run(cluster, async () => {
    const askedAfter: number[] = [];
    for (const waitMs of [0, 200, 200, 200, 200, 200, 200]) {
      await cluster.clock.advance(waitMs);
      askedAfter.push(cluster.authorizer.asked.length);
    }
    assert.deepEqual(askedAfter, [1, 2, 2, 3, 3, 3, 3]);
    cluster.authorizer.may.add("system:bootstrap:abcdef: nodeclient");
    await cluster.clock.advance(200);
    assert.equal(cluster.client.read("csr-1").status?.conditions?.[0]?.type, "Approved");
  });
  const decisions = cluster.events.filter((event) => event.kind === "decision").map((event) => event.what);
  assert.deepEqual(decisions, ["CSR csr-1: leave it to a person", "CSR csr-1: approve"]);
});

test("a failed write is retried and reported", async () => {
  const cluster = await fakeCluster();
  cluster.authorizer.may.add("system:bootstrap:abcdef: nodeclient");
  cluster.client.failures = 1;
  cluster.client.put(csrObject());
  await run(cluster, async () => {
    assert.deepEqual(cluster.client.writes, []);
    await cluster.clock.advance(200);
    assert.equal(cluster.client.writes.length, 1);
  });
  const errors = cluster.events.filter((event) => event.kind === "error").map((event) => event.message);
  assert.deepEqual(errors, ["csrapproving: CSR csr-1: the store is away"]);
});

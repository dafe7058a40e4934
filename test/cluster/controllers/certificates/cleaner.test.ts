import assert from "node:assert/strict";
import { test } from "vitest";
import { createCsrCleanerController } from "../../../../src/cluster/controllers/certificates/cleaner.js";
import type { CertificateSigningRequest } from "../../../../src/staging/apimachinery/api/certificates.js";
import { createClientCertificate } from "../../../../src/staging/pki/authority.js";
import { START_MS } from "../../../support/fake-clock.js";
import { fakeCluster } from "./fakes.js";

const HOUR_MS = 3_600_000;
const at = (agoMs: number) => new Date(START_MS - agoMs).toISOString().replace(".000Z", "Z");

function csr(
  name: string,
  createdAgoMs: number,
  condition?: string,
  changedAgoMs = createdAgoMs,
  certificate?: string,
) {
  const conditions =
    condition === undefined ? [] : [{ type: condition, status: "True", lastUpdateTime: at(changedAgoMs) }];
  const object: CertificateSigningRequest = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name, creationTimestamp: at(createdAgoMs) },
    spec: { request: "", signerName: "a.b/c" },
    status: { conditions, ...(certificate === undefined ? {} : { certificate }) },
  };
  return object;
}

const cluster = await fakeCluster();
const pair = (validityMs: number) =>
  createClientCertificate(cluster.deps.ca, cluster.deps, { commonName: "jane", organization: [], validityMs });
const good = Buffer.from((await pair(HOUR_MS)).certificatePem).toString("base64");
const expired = Buffer.from((await pair(-1000)).certificatePem).toString("base64");
const rubbish = Buffer.from("hello").toString("base64");

const minute = 60_000;
const table = [
  // request                                                           reason of the deletion; "" = it stays
  [csr("fresh", minute), ""],
  [csr("pending-24h", 24 * HOUR_MS), ""],
  [csr("pending-longer", 24 * HOUR_MS + minute), "it has been pending for too long"],
  [csr("denied-just", 30 * HOUR_MS, "Denied", HOUR_MS), ""],
  [csr("denied-long", 30 * HOUR_MS, "Denied", HOUR_MS + minute), "it was denied long ago"],
  [csr("failed-long", 30 * HOUR_MS, "Failed", HOUR_MS + minute), "it failed long ago"],
  [csr("issued-just", HOUR_MS, "Approved", HOUR_MS, good), ""],
  [
    csr("issued-long", 30 * HOUR_MS, "Approved", HOUR_MS + minute, good),
    "it was approved long ago, and its certificate is issued",
  ],
  [csr("issued-expired", minute, "Approved", minute, expired), "its certificate has expired"],
  [csr("issued-rubbish", minute, "Approved", minute, rubbish), ""],
  [csr("approved-never-issued", 40 * HOUR_MS, "Approved", 30 * HOUR_MS), ""],
] as const;

test("the first pass deletes old requests, and only those", async () => {
  for (const [object] of table) cluster.client.put(object);
  const stop = new AbortController();
  const done = createCsrCleanerController(cluster.deps).run(stop.signal);
  await cluster.clock.advance(0);
  assert.deepEqual(
    cluster.client.names().sort(),
    table
      .filter(([, why]) => why === "")
      .map(([{ metadata }]) => metadata.name)
      .sort(),
  );
  const said = cluster.events.map((event) => (event.kind === "decision" ? `${event.what}: ${event.why}` : event.kind));
  assert.deepEqual(
    said.sort(),
    table
      .filter(([, why]) => why !== "")
      .map(([{ metadata }, why]) => `delete CSR ${metadata.name}: ${why}`)
      .sort(),
  );

  // The next pass is an hour later.
  await cluster.clock.advance(HOUR_MS - 1);
  assert.ok(cluster.client.names().includes("issued-just"));
  await cluster.clock.advance(1);
  assert.ok(!cluster.client.names().includes("issued-just"));
  stop.abort();
  await done;
  assert.equal(cluster.clock.sleeping, 0);
});

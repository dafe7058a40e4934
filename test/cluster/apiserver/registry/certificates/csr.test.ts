import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "vitest";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { createCertificateRequest } from "../../../../../src/staging/pki/csr.js";
import { START_MS } from "../../../../support/fake-clock.js";
import { fields } from "../../../../support/fields.js";
import { openTableLab, refusalIfAny, type TableLab } from "../table-lab.js";

const NOW = `${new Date(START_MS).toISOString().slice(0, 19)}Z`;
const BEFORE = "2020-01-01T00:00:00Z";

function requestPem(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return createCertificateRequest(privateKey, {
    subject: { organization: ["system:nodes"], commonName: "system:node:n" },
  });
}

async function csrLab(spec: Record<string, unknown> = {}): Promise<{ lab: TableLab; csr: KubeObject }> {
  const lab = await openTableLab();
  const user = { username: "jane", uid: "42", groups: ["devs"], extra: { team: ["a"] } };
  const body = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "Rec_Bad" },
    spec: {
      request: Buffer.from(requestPem()).toString("base64"),
      signerName: "example.com/s",
      usages: ["client auth"],
      ...spec,
    },
  };
  return { lab, csr: await lab.create("certificatesigningrequests", body, { user }) };
}

function put(lab: TableLab, csr: KubeObject, subresource?: string): Promise<KubeObject> {
  return lab.put("certificatesigningrequests", "Rec_Bad", csr, subresource === undefined ? {} : { subresource });
}

const condition = (type: string, more: Record<string, unknown> = {}) => ({ type, status: "True", ...more });

function withConditions(csr: KubeObject, ...conditions: unknown[]): KubeObject {
  return { ...csr, status: { ...fields(csr.status), conditions } };
}

test("the requester is the authenticated user, and a new CSR has an empty status", async () => {
  const { csr } = await csrLab({ username: "root", groups: ["system:masters"], uid: "0", extra: { a: ["b"] } });
  const { username, uid, groups, extra } = fields(csr.spec);
  assert.deepEqual(
    { username, uid, groups, extra },
    { username: "jane", uid: "42", groups: ["devs"], extra: { team: ["a"] } },
  );
  assert.deepEqual(csr.status, {});
});

test("a PUT of the CSR itself changes neither spec nor status", async () => {
  const { lab, csr } = await csrLab();
  const changed = withConditions(
    { ...csr, spec: { ...fields(csr.spec), signerName: "example.com/t" } },
    condition("Approved"),
  );
  const written = await put(lab, { ...changed, metadata: { ...csr.metadata, labels: { a: "b" } } });
  assert.deepEqual([written.spec, written.status], [csr.spec, {}]);
  assert.deepEqual(written.metadata.labels, { a: "b" });
});

test("approving sets the times, and accepts labels but no certificate", async () => {
  const { lab, csr } = await csrLab();
  const sent = withConditions(
    { ...csr, metadata: { ...csr.metadata, labels: { a: "b" } } },
    condition("Approved", { reason: "r" }),
  );
  const written = await put(lab, { ...sent, status: { ...fields(sent.status), certificate: "Y2VydA==" } }, "approval");
  const times = { lastUpdateTime: NOW, lastTransitionTime: NOW };
  assert.deepEqual(written.status, { conditions: [{ type: "Approved", status: "True", reason: "r", ...times }] });
  assert.deepEqual(written.metadata.labels, { a: "b" });
});

test("an unchanged condition keeps its time", async () => {
  const { lab, csr } = await csrLab();
  const early = condition("Approved", { lastUpdateTime: BEFORE, lastTransitionTime: BEFORE });
  const approved = await put(lab, withConditions(csr, early), "approval");
  const again = await put(lab, withConditions(approved, condition("Approved"), condition("Failed")), "approval");
  const [first, second] = (fields(again.status).conditions as Record<string, unknown>[]) ?? [];
  assert.deepEqual([first?.lastTransitionTime, second?.lastTransitionTime], [BEFORE, NOW]);
});

const PEM = (type: string) => Buffer.from(`-----BEGIN ${type}-----\nAAAA\n-----END ${type}-----\n`).toString("base64");

const REFUSED: readonly [
  what: string,
  subresource: string,
  before: string[],
  status: Record<string, unknown>,
  refusal: string,
][] = [
  [
    "False",
    "approval",
    [],
    { conditions: [condition("Approved", { status: "False" })] },
    'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
  ],
  [
    "without a status",
    "approval",
    [],
    { conditions: [{ type: "Approved" }] },
    "status.conditions[0].status: Required value",
  ],
  ["without a type", "approval", [], { conditions: [{ status: "True" }] }, "status.conditions[0].type: Required value"],
  [
    "approved and denied",
    "approval",
    [],
    { conditions: [condition("Approved"), condition("Denied")] },
    'status.conditions[1].type: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
  ],
  [
    "twice",
    "approval",
    [],
    { conditions: [condition("Approved"), condition("Approved")] },
    'status.conditions[1].type: Duplicate value: "Approved"',
  ],
  [
    "taken back",
    "approval",
    ["Approved"],
    {},
    'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
  ],
  [
    "through /status",
    "status",
    [],
    { conditions: [condition("Approved")] },
    'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
  ],
  [
    "a text that is not a certificate",
    "status",
    [],
    { certificate: "aGVsbG8=" },
    'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
  ],
  [
    "a key instead of a certificate",
    "status",
    [],
    { certificate: PEM("PRIVATE KEY") },
    'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"',
  ],
];

for (const [what, subresource, before, status, refusal] of REFUSED) {
  test(`refused through /${subresource}: ${what}`, async () => {
    const { lab, csr } = await csrLab();
    const old =
      before.length === 0
        ? csr
        : await put(lab, withConditions(csr, ...before.map((type) => condition(type))), "approval");
    const got = await refusalIfAny(put(lab, { ...old, status }, subresource));
    const prefix = 'CertificateSigningRequest.certificates.k8s.io "Rec_Bad" is invalid: ';
    assert.equal(got?.message, prefix + refusal);
  });
}

const SIGNER_NAMES: readonly [name: string, refusal: string | undefined][] = [
  ["example.com/a.b", undefined],
  ["nosuch", "must be a fully qualified domain and path of the form 'example.com/signer-name'"],
  ["localhost/a", "should be a domain with at least two segments separated by dots"],
  ["kubernetes.io/legacy-unknown", "the legacy signerName is not allowed via this API version"],
];

for (const [name, refusal] of SIGNER_NAMES) {
  test(`signer name ${name}: ${refusal ?? "fine"}`, async () => {
    const got = await refusalIfAny(csrLab({ signerName: name }));
    assert.equal(got === undefined, refusal === undefined);
    if (refusal !== undefined) assert.ok(got?.message?.endsWith(refusal), got?.message);
  });
}

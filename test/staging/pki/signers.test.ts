import assert from "node:assert/strict";
import { test } from "vitest";
import { NO_SANS, type SubjectAltNames } from "../../../src/staging/pki/sans.js";
import {
  evaluateSigner,
  findSigner,
  KUBE_APISERVER_CLIENT,
  KUBE_APISERVER_CLIENT_KUBELET,
  KUBELET_SERVING,
  SIGNERS,
  type SignerQuestion,
} from "../../../src/staging/pki/signers.js";

const CLIENT = ["digital signature", "client auth"];
const SERVING = ["digital signature", "server auth"];

function question(o: string, cn: string, sans: Partial<SubjectAltNames>, usages: readonly string[]): SignerQuestion {
  const organization = o === "" ? [] : o.split(" ");
  return { request: { subject: { commonName: cn, organization }, sans: { ...NO_SANS, ...sans } }, usages };
}

const node = "system:node:n";
const table: readonly (readonly [string, string, string, Partial<SubjectAltNames>, readonly string[], string])[] = [
  // signer                         O               CN     SANs  usages  message ("" = signed)
  [KUBE_APISERVER_CLIENT_KUBELET, "system:nodes", node, {}, CLIENT, ""],
  [KUBE_APISERVER_CLIENT_KUBELET, "system:nodes", node, {}, ["key encipherment", ...CLIENT], ""],
  [KUBE_APISERVER_CLIENT_KUBELET, "system:nodes", "system:node:", {}, CLIENT, ""],
  [KUBE_APISERVER_CLIENT_KUBELET, "system:nodez", node, {}, CLIENT, "subject organization is not system:nodes"],
  [KUBE_APISERVER_CLIENT_KUBELET, "", node, {}, CLIENT, "subject organization is not system:nodes"],
  [KUBE_APISERVER_CLIENT_KUBELET, "system:nodes other", node, {}, CLIENT, "subject organization is not system:nodes"],
  [
    KUBE_APISERVER_CLIENT_KUBELET,
    "system:nodes",
    "n",
    {},
    CLIENT,
    "subject common name does not begin with system:node:",
  ],
  [KUBE_APISERVER_CLIENT_KUBELET, "system:nodes", node, { dns: ["n"] }, CLIENT, "DNS subjectAltNames are not allowed"],
  [
    KUBE_APISERVER_CLIENT_KUBELET,
    "system:nodes",
    node,
    { email: ["a@b"] },
    CLIENT,
    "Email subjectAltNames are not allowed",
  ],
  [KUBE_APISERVER_CLIENT_KUBELET, "system:nodes", node, { ip: ["::1"] }, CLIENT, "IP subjectAltNames are not allowed"],
  [
    KUBE_APISERVER_CLIENT_KUBELET,
    "system:nodes",
    node,
    { uri: ["a:b"] },
    CLIENT,
    "URI subjectAltNames are not allowed",
  ],
  [
    KUBE_APISERVER_CLIENT_KUBELET,
    "system:nodes",
    node,
    {},
    [...CLIENT, "server auth"],
    "usages did not match [client auth digital signature key encipherment]",
  ],
  [
    KUBE_APISERVER_CLIENT_KUBELET,
    "system:nodes",
    node,
    {},
    ["client auth"],
    "usages did not match [client auth digital signature key encipherment]",
  ],
  // the subject's O is asked before its CN, names before usages
  [KUBE_APISERVER_CLIENT_KUBELET, "devs", "jane", { dns: ["n"] }, [], "subject organization is not system:nodes"],
  [KUBELET_SERVING, "system:nodes", node, { dns: ["n"] }, SERVING, ""],
  [KUBELET_SERVING, "system:nodes", node, { ip: ["10.0.0.1"] }, [...SERVING, "key encipherment"], ""],
  [KUBELET_SERVING, "system:nodes", node, {}, SERVING, "DNS or IP subjectAltName is required"],
  [
    KUBELET_SERVING,
    "system:nodes",
    node,
    { dns: ["n"], email: ["a@b"] },
    SERVING,
    "Email subjectAltNames are not allowed",
  ],
  [KUBELET_SERVING, "system:nodes", node, { dns: ["n"], uri: ["a:b"] }, SERVING, "URI subjectAltNames are not allowed"],
  [
    KUBELET_SERVING,
    "system:nodes",
    node,
    { dns: ["n"] },
    [...SERVING, "client auth"],
    "usages did not match [digital signature key encipherment server auth]",
  ],
  [KUBELET_SERVING, "devs", node, { dns: ["n"] }, SERVING, "subject organization is not system:nodes"],
  [
    KUBELET_SERVING,
    "system:nodes",
    "n",
    { dns: ["n"] },
    SERVING,
    "subject common name does not begin with system:node:",
  ],
  [KUBE_APISERVER_CLIENT, "devs", "jane", {}, CLIENT, ""],
  [KUBE_APISERVER_CLIENT, "", "", { dns: ["x"] }, ["client auth"], ""],
  [
    KUBE_APISERVER_CLIENT,
    "",
    "jane",
    {},
    ["digital signature", "server auth"],
    "invalid usage for client certificate: server auth",
  ],
  [
    KUBE_APISERVER_CLIENT,
    "",
    "jane",
    {},
    ["digital signature"],
    "missing required usage for client certificate: client auth",
  ],
];

for (const [name, o, cn, sans, usages, want] of table) {
  const label = `${name.split("/")[1]}: O=${o} CN=${cn} ${JSON.stringify(sans)} [${usages}]`;
  test(`${label} -> ${want || "signed"}`, () => {
    const signer = findSigner(name);
    assert.ok(signer);
    const asked = question(o, cn, sans, usages);
    const outcomes = evaluateSigner(signer, asked);
    assert.equal(outcomes.length, signer.rules.length);
    assert.equal(outcomes.find((one) => !one.ok)?.message ?? "", want);
  });
}

test("every rule can fail", () => {
  const failing = new Set<string>();
  for (const [name, o, cn, sans, usages] of table) {
    const signer = findSigner(name);
    assert.ok(signer);
    for (const one of evaluateSigner(signer, question(o, cn, sans, usages))) if (!one.ok) failing.add(name + one.rule);
  }
  assert.deepEqual([...failing].sort(), SIGNERS.flatMap((one) => one.rules.map((rule) => one.name + rule.name)).sort());
});

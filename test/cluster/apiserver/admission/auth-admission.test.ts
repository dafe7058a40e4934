import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from "../../../../src/cluster/apiserver/admission/certificates.js";
import { forbiddenLabelChanges } from "../../../../src/cluster/apiserver/admission/noderestriction/node-labels.js";
import { NodeRestriction } from "../../../../src/cluster/apiserver/admission/noderestriction/node-restriction.js";
import { binding, role } from "../../../../src/cluster/apiserver/auth/policy/notation.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { StatusError } from "../../../../src/staging/apimachinery/errors.js";
import { createCertificateRequest } from "../../../../src/staging/pki/csr.js";
import { generatePrivateKey } from "../../../../src/staging/pki/keys.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../../../src/staging/server/admission/interfaces.js";
import { type AuthLab, startAuth, user } from "../auth/fixtures.js";

let lab: AuthLab;
beforeAll(async () => {
  lab = await startAuth();
  for (const object of [
    role(["approver", "approve certificates.k8s.io signers =example.com/s"]),
    role(["domain", "approve,sign certificates.k8s.io signers =example.com/*"]),
    binding("approver", "approver", ["User approver"]),
    binding("domain", "domain", ["User domain"]),
  ]) {
    lab.registry.put(`${object.kind.toLowerCase()}s.rbac.authorization.k8s.io`, object);
  }
  lab.registry.put("nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n1", uid: "node-uid" }, spec: {} });
  for (const nodeName of ["n1", "n2"]) {
    lab.registry.put("pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `on-${nodeName}`, namespace: "a", uid: `${nodeName}-uid` },
      spec: { nodeName },
    });
  }
});
afterAll(async () => {
  await lab.auth.close();
});

/** @returns `403 <what follows "is forbidden: ">`, another code with its message, or "admitted" */
async function run(plugin: AdmissionPlugin, request: Partial<AdmissionAttributes>): Promise<string> {
  const attributes: AdmissionAttributes = {
    user: user("nobody"),
    operation: "CREATE",
    group: "",
    resource: "",
    kind: "",
    subresource: "",
    namespace: "",
    name: "",
    object: undefined,
    oldObject: undefined,
    dryRun: false,
    warnings: [],
    ...request,
  };
  try {
    await plugin.admit?.(attributes);
    await plugin.validate?.(attributes);
    return "admitted";
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return `${error.code} ${error.message.replace(/^.* is forbidden: /, "")}`;
  }
}

describe("NodeRestriction, beyond the recording", () => {
  const n1 = user("system:node:n1", "system:nodes");
  const check = (request: Partial<AdmissionAttributes>) =>
    run(new NodeRestriction(lab.registry), { user: n1, ...request });
  const pod = (spec: object, metadata: object = {}): KubeObject => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "m",
      annotations: { "kubernetes.io/config.mirror": "h" },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "node-uid", controller: true }],
      ...metadata,
    },
    spec: { nodeName: "n1", ...spec },
  });
  const token = (reference?: object): KubeObject => ({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: {},
    spec: { boundObjectRef: reference },
  });
  const env = (source: object) => ({ containers: [{ name: "c", env: [{ name: "V", valueFrom: source }] }] });
  const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "node-uid", controller: true };
  const onN2 = { apiVersion: "v1", kind: "Pod", name: "on-n2", uid: "n2-uid" };
  const account = { resource: "serviceaccounts", subresource: "token", namespace: "a", name: "default" } as const;

  const table: readonly (readonly [string, Partial<AdmissionAttributes>, string])[] = [
    ["a mirror pod of its own", { resource: "pods", object: pod({}) }, "admitted"],
    [
      "a secret in an environment variable",
      { resource: "pods", object: pod(env({ secretKeyRef: { name: "s", key: "k" } })) },
      '403 node "n1" can not create pods that reference secrets',
    ],
    [
      "a config map in an environment variable",
      { resource: "pods", object: pod(env({ configMapKeyRef: { name: "s", key: "k" } })) },
      '403 node "n1" can not create pods that reference configmaps',
    ],
    [
      "a secret in a projected volume",
      {
        resource: "pods",
        object: pod({ volumes: [{ name: "v", projected: { sources: [{ secret: { name: "s" } }] } }] }),
      },
      '403 node "n1" can not create pods that reference secrets',
    ],
    [
      "a pull secret",
      { resource: "pods", object: pod({ imagePullSecrets: [{ name: "s" }] }) },
      '403 node "n1" can not create pods that reference secrets',
    ],
    [
      "a claim",
      { resource: "pods", object: pod({ volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] }) },
      '403 node "n1" can not create pods that reference persistentvolumeclaims',
    ],
    [
      "a service account",
      { resource: "pods", object: pod({ serviceAccountName: "default" }) },
      '403 node "n1" can not create pods that reference a service account',
    ],
    [
      "two owners",
      { resource: "pods", object: pod({}, { ownerReferences: [owner, owner] }) },
      '403 node "n1" can only create pods with a single owner reference set to itself',
    ],
    [
      "an update of a pod",
      { resource: "pods", operation: "UPDATE", name: "on-n1", object: pod({}), oldObject: pod({}) },
      '403 unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
    ],
    [
      "a binding",
      { resource: "pods", subresource: "binding", namespace: "a", name: "on-n1" },
      `403 unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`,
    ],
    [
      "deleting a pod that does not exist",
      { resource: "pods", operation: "DELETE", namespace: "a", name: "gone" },
      '404 pod "gone" not found',
    ],
    [
      "a token without the pod's uid",
      { ...account, object: token({ ...onN2, uid: "" }) },
      "403 node requested token with a pod binding without a uid",
    ],
    [
      "a token for a pod of another node",
      { ...account, object: token(onN2) },
      "403 node requested token bound to a pod scheduled on a different node",
    ],
    [
      "a token bound to a secret",
      { ...account, object: token({ ...onN2, kind: "Secret" }) },
      "403 node requested token not bound to a pod",
    ],
    [
      "the token request as a subresource's body",
      { ...account, options: token({ ...onN2, name: "on-n1", uid: "n1-uid" }) },
      "admitted",
    ],
    ["a claim itself", { resource: "persistentvolumeclaims", name: "c" }, "403 may only update PVC status"],
    [
      "its CSINode's deletion",
      { group: "storage.k8s.io", resource: "csinodes", operation: "DELETE", name: "n1" },
      "admitted",
    ],
    [
      "another's lease's deletion",
      {
        group: "coordination.k8s.io",
        resource: "leases",
        operation: "DELETE",
        namespace: "kube-node-lease",
        name: "n2",
      },
      "403 can only access node lease with the same name as the requesting node",
    ],
    ["anything else", { resource: "events" }, "admitted"],
  ];
  for (const [what, request, want] of table) {
    test(`${what}: ${want.slice(0, 60)}`, async () => {
      assert.equal(await check(request), want);
    });
  }

  test("nodes without a name are refused, users outside system:nodes are ignored", async () => {
    const request = { resource: "nodes", name: "n2", operation: "DELETE" } as const;
    const nameless = user("system:node:", "system:nodes");
    const why = '403 could not determine node from user "system:node:"';
    assert.equal(await check({ ...request, user: nameless }), why);
    assert.equal(await check({ ...request, user: user("system:node:n1", "devs") }), "admitted");
    assert.equal(await check({ ...request, user: user("n1", "system:nodes") }), "admitted");
  });

  test("a label cannot be set, changed or removed; unchanged labels are ignored", () => {
    const role = "node-role.kubernetes.io/worker";
    assert.deepEqual(forbiddenLabelChanges({ [role]: "" }, { [role]: "" }), []);
    assert.deepEqual(forbiddenLabelChanges({}, { [role]: "" }), [role]);
    assert.deepEqual(forbiddenLabelChanges({ [role]: "a", "x.k8s.io/y": "1" }, { [role]: "b" }), [role, "x.k8s.io/y"]);
    assert.deepEqual(forbiddenLabelChanges({ "my-kubernetes.io/x": "", "sub.node.kubernetes.io/x": "" }), []);
  });
});

describe("certificate signing requests", () => {
  const csr = (signerName: string, status: object = {}, request = ""): KubeObject => ({
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "c" },
    spec: { signerName, request },
    status,
  });
  const target = { group: "certificates.k8s.io", resource: "certificatesigningrequests", name: "c" };
  const update = (who: string, subresource: string, signer: string, status: object) =>
    ({
      ...target,
      user: user(who),
      operation: "UPDATE",
      subresource,
      object: csr(signer, status),
      oldObject: csr(signer),
    }) as const;
  const approved = { conditions: [{ type: "Approved", status: "True" }] };

  const approvals = [
    ["approver", "example.com/s", "admitted"],
    ["approver", "example.com/t", '403 user not permitted to approve requests with signerName "example.com/t"'],
    ["domain", "example.com/anything", "admitted"],
    ["domain", "example.org/s", '403 user not permitted to approve requests with signerName "example.org/s"'],
    ["jane", "example.com/s", '403 user not permitted to approve requests with signerName "example.com/s"'],
  ] as const;
  for (const [who, signer, want] of approvals) {
    test(`${who} approves for ${signer}: ${want.slice(0, 30)}`, async () => {
      assert.equal(
        await run(certificateApproval(lab.auth.authorizer), update(who, "approval", signer, approved)),
        want,
      );
    });
  }

  test("the stored signer counts, not the one in the request", async () => {
    const request = update("approver", "approval", "example.com/s", approved);
    const swapped = { ...request, oldObject: csr("example.com/other") };
    assert.match(await run(certificateApproval(lab.auth.authorizer), swapped), /^403 .*example.com\/other/);
  });

  test("setting a certificate or conditions requires the permission to sign, other updates do not", async () => {
    const plugin = certificateSigning(lab.auth.authorizer);
    const signed = { certificate: "QQ==" };
    const why = '403 user not permitted to sign requests with signerName "example.com/s"';
    assert.equal(await run(plugin, update("domain", "status", "example.com/s", signed)), "admitted");
    assert.equal(await run(plugin, update("approver", "status", "example.com/s", signed)), why);
    assert.equal(await run(plugin, update("jane", "status", "example.com/s", approved)), why);
    assert.equal(await run(plugin, update("jane", "status", "example.com/s", {})), "admitted");
  });

  test("no client certificate for system:masters", async () => {
    const key = await generatePrivateKey("ec");
    const pem = (organization: string[]) =>
      Buffer.from(createCertificateRequest(key, { subject: { commonName: "x", organization } })).toString("base64");
    const create = (signer: string, request: string) =>
      run(certificateSubjectRestriction(), {
        ...target,
        user: user("root", "system:masters"),
        object: csr(signer, {}, request),
      });
    const client = "kubernetes.io/kube-apiserver-client";
    assert.equal(
      await create(client, pem(["a", "system:masters"])),
      "403 use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed",
    );
    assert.equal(await create(client, pem(["a"])), "admitted");
    assert.equal(await create("kubernetes.io/kubelet-serving", pem(["system:masters"])), "admitted");
    assert.match(await create(client, "QQ=="), /^403 failed to parse CSR: /);
  });
});

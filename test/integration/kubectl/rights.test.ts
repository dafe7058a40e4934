import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCertificateRequest } from "../../../src/staging/pki/csr.js";
import { generatePrivateKey } from "../../../src/staging/pki/keys.js";
import { Kubectl, kubectlAtLeast } from "../../support/kubectl.js";
import { KubectlCluster } from "../../support/kubectl-cluster.js";
import { suiteNeeding } from "../../support/requirements.js";

const SIGNER = "kubernetes.io/kube-apiserver-client";

suiteNeeding(["kubectl"], "kubectl and rights", () => {
  let cluster: KubectlCluster;
  const kubectl = (...args: string[]) => cluster.kubectl.run(...args);
  beforeAll(async () => {
    cluster = await KubectlCluster.start();
  });
  afterAll(() => cluster.close());

  /** @returns the private key, PEM */
  async function request(name: string, commonName: string): Promise<string> {
    const key = await generatePrivateKey("ec");
    const pem = createCertificateRequest(key, { subject: { commonName, organization: ["staff"] } });
    const spec = {
      request: Buffer.from(pem).toString("base64"),
      signerName: SIGNER,
      usages: ["client auth", "digital signature"],
    };
    const object = {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name },
      spec,
    };
    await kubectl("create", "-f", cluster.kubectl.file(`${name}.json`, object));
    return key.export({ type: "pkcs8", format: "pem" }).toString();
  }

  describe("certificate", () => {
    test("approve: the certificate is issued and has its user's rights", async () => {
      const clientKeyPem = await request("jane", "jane");
      expect(await kubectl("get", "csr", "jane")).toMatch(/^jane .* kubernetes-admin .*Pending$/m);
      expect(await kubectl("certificate", "approve", "jane")).toContain("jane approved");
      await kubectl("wait", "--for=condition=Approved", "csr/jane", "--timeout=10s");
      let certificate = "";
      while (certificate === "")
        certificate = await kubectl("get", "csr", "jane", "-o", "jsonpath={.status.certificate}");
      expect(await kubectl("get", "csr", "jane")).toMatch(/Approved,Issued$/m);
      expect(await kubectl("describe", "csr", "jane")).toMatch(/Common Name: +jane[\s\S]*Organization: +staff/);
      const { server, caPem = "" } = cluster.controlPlane.admin;
      const clientCertificatePem = Buffer.from(certificate, "base64").toString();
      const jane = new Kubectl({ server, caPem, clientCertificatePem, clientKeyPem });
      const refused = await jane.try(["get", "pods"]);
      expect([refused.code, refused.stderr]).toEqual([
        1,
        'Error from server (Forbidden): pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"\n',
      ]);
      await kubectl("create", "clusterrolebinding", "staff-views", "--clusterrole=view", "--group=staff");
      expect(await jane.run("get", "pods")).toBe("");
      expect((await jane.try(["get", "secrets"])).code).toBe(1);
    });

    test("deny; a decision is final; a missing request", async () => {
      await request("joe", "joe");
      expect(await kubectl("certificate", "deny", "joe")).toContain("joe denied");
      expect(await kubectl("get", "csr", "joe")).toMatch(/Denied$/m);
      const late = await cluster.kubectl.try(["certificate", "approve", "joe"]);
      expect(late.code).toBe(1);
      const missing = await cluster.kubectl.try(["certificate", "approve", "nobody"]);
      expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('"nobody" not found')]);
    });
  });

  describe("auth", () => {
    const rows: [argv: string[], code: number, said: string][] = [
      [["create", "pods"], 0, "yes\n"],
      [["create", "pods", "--as", "jim"], 1, "no\n"],
      [["list", "nodes", "--as", "system:node:x", "--as-group", "system:nodes"], 0, "yes\n"],
      [["get", "/healthz", "--as", "jim"], 0, "yes\n"],
      [["get", "pods", "--subresource=log"], 0, "yes\n"],
    ];
    for (const [argv, code, said] of rows) {
      test(`can-i ${argv.join(" ")}`, async () => {
        const answer = await cluster.kubectl.try(["auth", "can-i", ...argv]);
        expect([answer.code, answer.stdout]).toEqual([code, said]);
      });
    }

    test("can-i --list, of oneself and of another", async () => {
      expect(await kubectl("auth", "can-i", "--list")).toMatch(/^\*\.\* +\[\] +\[\] +\[\*\]$/m);
      const jim = await kubectl("auth", "can-i", "--list", "--as", "jim", "--as-group", "system:authenticated");
      expect(jim).toMatch(/^selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]$/m);
      expect(jim).not.toContain("*.*");
    });

    test("as another user: what that user is not allowed to do", async () => {
      const { code, stderr } = await cluster.kubectl.try(["get", "nodes", "--as", "jim"]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('User "jim" cannot list resource "nodes"')]);
    });
  });

  describe("auth whoami", () => {
    test("v1.25 does not know it", async (context) => {
      if (!kubectlAtLeast(27)) return context.skip("kubectl has no whoami before 1.27");
      const { code, stderr } = await cluster.kubectl.try(["auth", "whoami"]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining("the selfsubjectreviews API is not enabled in the cluster"),
      ]);
    });

    test("v1.32 answers it", async (context) => {
      if (!kubectlAtLeast(28)) return context.skip("kubectl asks only older versions of it before 1.28");
      const newer = await KubectlCluster.start([], { kubeVersion: "1.32" });
      try {
        expect(await newer.kubectl.run("auth", "whoami")).toMatch(
          /^Username +kubernetes-admin\nGroups +\[system:masters system:authenticated\]/m,
        );
        expect(await newer.kubectl.run("version")).toContain("v1.32.0+kubelab");
      } finally {
        await newer.close();
      }
    });
  });
});

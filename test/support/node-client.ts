import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { issuedCertificate, requestCertificate } from "../../src/staging/client-go/certificate/csr.js";
import type { KubeClient } from "../../src/staging/client-go/rest/client.js";
import { type ClientDeps, createClient } from "../../src/staging/client-go/rest/create-client.js";
import { generatePrivateKey, privateKeyPem } from "../../src/staging/pki/keys.js";

/** A client with a node's certificate from the cluster's own signer, restricted by NodeRestriction. */
export async function nodeClient(
  { admin }: ControlPlane,
  nodeName: string,
  deps: Omit<ClientDeps, "actor">,
): Promise<KubeClient> {
  await using client = createClient(admin, { ...deps, actor: "user" });
  const key = await generatePrivateKey("ec");
  const subject = { commonName: `system:node:${nodeName}`, organization: ["system:nodes"] };
  const usages = ["digital signature", "key encipherment", "client auth"];
  const signerName = "kubernetes.io/kube-apiserver-client-kubelet";
  const request = { name: nodeName, key, subject, usages, signerName, nowMs: deps.clock.now() };
  const asked = await requestCertificate(client, request, new AbortController().signal);
  if (asked.outcome === "unusable") throw new Error(asked.why);
  const path = `/apis/certificates.k8s.io/v1/certificatesigningrequests/${nodeName}`;
  // An administrator approves the request at once.
  for (;;) {
    const clientCertificatePem = issuedCertificate(await client.expect<typeof asked.csr>({ method: "GET", path }));
    if (clientCertificatePem === undefined) continue;
    const { server, caPem = "" } = admin;
    const config = { server, caPem, clientCertificatePem, clientKeyPem: privateKeyPem(key) };
    return createClient(config, { ...deps, actor: "kubelet" });
  }
}

import { requestCertificate } from "../client-go/certificate/csr.js";
import { waitForCertificate } from "../client-go/certificate/wait.js";
import type { RestConfig } from "../client-go/rest/client.js";
import { createClient } from "../client-go/rest/create-client.js";
import { CSRS, objectPath } from "../client-go/rest/paths.js";
import { decide } from "../csr/decide.js";
import { generatePrivateKey, privateKeyPem } from "../pki/keys.js";
import type { Ctx } from "../trace/ctx.js";
import { defined } from "../util/defined.js";
import { LabError } from "../util/errors.js";

/** The user that the API server's own roles know as kube-proxy: it may watch Services, their endpoints, and nodes. */
const USER = "system:kube-proxy";
const SIGNER = "kubernetes.io/kube-apiserver-client";
const TIMEOUT_MS = 30_000;

/**
 * Gets kube-proxy a certificate of its own, as an administrator: request, approval, and removal of the request.
 *
 * Differs: kubeadm gives kube-proxy the token of a service account, because its kube-proxy runs in pods.
 * @throws LabError FORBIDDEN, REFUSED, TIMED_OUT
 */
export async function requestProxyIdentity(deps: Ctx, admin: RestConfig, signal: AbortSignal): Promise<RestConfig> {
  await using client = createClient(admin, { ...deps, actor: "user" });
  const key = await generatePrivateKey("ec");
  const result = await requestCertificate(
    client,
    {
      key,
      subject: { commonName: USER, organization: [] },
      usages: ["digital signature", "client auth"],
      signerName: SIGNER,
      nowMs: deps.clock.now(),
    },
    signal,
  );
  if (result.outcome === "unusable") throw new LabError("REFUSED", `CSR ${result.name}: ${result.why}`, "Delete it.");
  const { name = "" } = result.csr.metadata;
  const message = "kubelab runs a kube-proxy for each of its nodes.";
  await decide({ client, trace: deps.trace }, name, { type: "Approved", reason: "KubelabApprove", message }, signal);
  const clientCertificatePem = await waitForCertificate(
    { ...deps, client },
    result.csr,
    { timeoutMs: TIMEOUT_MS },
    signal,
  );
  await client.request({ method: "DELETE", path: objectPath(CSRS, name), signal });
  const { server, caPem, tlsServerName, insecureSkipTlsVerify, proxyAgent } = admin;
  const certificate = { clientCertificatePem, clientKeyPem: privateKeyPem(key) };
  return { server, ...certificate, ...defined({ caPem, tlsServerName, insecureSkipTlsVerify, proxyAgent }) };
}

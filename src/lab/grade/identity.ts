import { clientUsages, KUBELET_CLIENT_SIGNER, nodeSubject } from "../../kubelet/certificate/node-identity.js";
import { requestCertificate } from "../../staging/client-go/certificate/csr.js";
import { waitForCertificate } from "../../staging/client-go/certificate/wait.js";
import type { ClientCtx, RestConfig } from "../../staging/client-go/rest/client.js";
import { createToken } from "../../staging/cluster-bootstrap/admin.js";
import { DEFAULT_NODE_TOKEN_GROUP } from "../../staging/cluster-bootstrap/secret.js";
import { formatToken, generateToken } from "../../staging/cluster-bootstrap/token.js";
import { DECISIONS, decide } from "../../staging/csr/decide.js";
import { generatePrivateKey, privateKeyPem } from "../../staging/pki/keys.js";
import { LabError } from "../../util/errors.js";

const TIMEOUT_MS = 60_000;

type Address = Pick<RestConfig, "server" | "caPem">;

/** Makes what a joined node has: a certificate for `system:node:NAME`. @param deps with the administrator's client @throws LabError as `decide` */
export async function nodeIdentity(
  deps: ClientCtx,
  address: Address,
  nodeName: string,
  kubeVersion: string,
  signal: AbortSignal,
): Promise<RestConfig> {
  const key = await generatePrivateKey("ec");
  const asked = {
    ...{ key, subject: nodeSubject(nodeName), usages: clientUsages(kubeVersion, key) },
    ...{ signerName: KUBELET_CLIENT_SIGNER, nowMs: deps.clock.now() },
  };
  const made = await requestCertificate(deps.client, asked, signal);
  if (made.outcome === "unusable") throw new LabError("REFUSED", made.why, "Run the command again.");
  await decide(deps, made.csr.metadata.name ?? "", DECISIONS.Approved, signal);
  const clientCertificatePem = await waitForCertificate(deps, made.csr, { timeoutMs: TIMEOUT_MS }, signal);
  return { ...address, clientCertificatePem, clientKeyPem: privateKeyPem(key) };
}

/** Makes what a new machine has: a bootstrap token, whose requests the cluster approves. @throws LabError REFUSED */
export async function bootstrapIdentity(deps: ClientCtx, address: Address): Promise<RestConfig> {
  const token = generateToken();
  await createToken(
    { ...deps, nowMs: deps.clock.now() },
    { token, usages: ["authentication", "signing"], groups: [DEFAULT_NODE_TOKEN_GROUP] },
  );
  return { ...address, token: formatToken(token) };
}

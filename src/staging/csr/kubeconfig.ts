import { basename } from "node:path";
import { writeFileAtomic } from "../../util/os/files.js";
import type { CertificateSigningRequest } from "../apimachinery/api/certificates.js";
import { kubeconfigText } from "../client-go/clientcmd/kubeconfig-text.js";
import type { ClientCtx, RestConfig } from "../client-go/rest/client.js";
import { KUBE_APISERVER_CLIENT, KUBE_APISERVER_CLIENT_KUBELET } from "../pki/signers.js";
import { type RequestFiles, readKeyFile } from "./files.js";

/** Signers whose certificates the API server accepts from a client. */
const CLIENT_SIGNERS = [KUBE_APISERVER_CLIENT, KUBE_APISERVER_CLIENT_KUBELET];

/**
 * Writes a kubeconfig (0600) that names the request's key and certificate, for `kubectl --kubeconfig`.
 * @param cluster its address and its CA
 * @returns undefined, without writing, for a certificate that is no client's, or whose key is elsewhere
 */
export async function writeClientKubeconfig(
  { trace }: Pick<ClientCtx, "trace">,
  { spec }: CertificateSigningRequest,
  files: RequestFiles,
  cluster: RestConfig,
): Promise<string | undefined> {
  if (!CLIENT_SIGNERS.includes(spec.signerName) || (await readKeyFile(files.key)) === undefined) return undefined;
  const names = { cluster: "default-cluster", user: "default-auth", context: "default-context" };
  const credentials = { clientCertificate: basename(files.certificate), clientKey: basename(files.key) };
  await trace.step("user", "Write a kubeconfig", {}, async () => {
    await writeFileAtomic(files.kubeconfig, kubeconfigText(cluster, names, credentials), { mode: 0o600 });
    const to = `written: try kubectl --kubeconfig ${files.kubeconfig} auth can-i --list`;
    trace.emit({ kind: "state", subject: files.kubeconfig, what: cluster.server, to }, { actor: "user" });
  });
  return files.kubeconfig;
}

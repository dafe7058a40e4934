import type { CertificateStore } from "../../kubelet/certificate/certificate-store.js";
import { isSamePem } from "../../kubelet/certificate/needs-bootstrap.js";
import { hasBeenThisNode } from "../../kubelet/certificate/own-certificate.js";
import { loadKubeconfig } from "../../staging/client-go/clientcmd/kubeconfig.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { EMBEDDED_CA_UNIT } from "../../staging/pki/authority.js";
import { type Certificate, parseCertificatePem } from "../../staging/pki/certificate.js";
import { DerError } from "../../staging/pki/der.js";
import { nameText } from "../../staging/pki/name.js";
import { LabError } from "../../util/errors.js";

/**
 * Checks that a bootstrap does not replace the certificate that another real cluster issued. Certificates of embedded clusters
 * are replaced, because these clusters end with their commands.
 * @param cluster the cluster to join
 * @throws LabError BAD_FILE
 */
export async function checkIssuedCertificate(
  store: CertificateStore,
  nodeName: string,
  cluster: RestConfig,
): Promise<void> {
  const certificate = await currentCertificate(store);
  if (certificate === undefined || certificate.issuer.organizationalUnit?.includes(EMBEDDED_CA_UNIT) === true) return;
  const { caPem } = cluster;
  if (caPem !== undefined && (await hasBeenThisNode(store, { nodeName, caPem }))) return;
  const own = await nodeKubeconfig(store);
  // A cluster may sign client certificates with a CA of their own, as k3s does.
  if (own !== undefined && (own.server === cluster.server || hasSameCa(own, cluster))) return;
  const at = own === undefined ? "" : ` at ${own.server}`;
  throw new LabError(
    "BAD_FILE",
    `${store.certificatePath} belongs to another cluster${at}: ${nameText(certificate.issuer)} issued it`,
    "Give the new node another name (--node NAME) or folder. To replace the files of that cluster's node: kubelab bootstrap --force.",
  );
}

/** @returns undefined if there is none, or if it is damaged */
async function currentCertificate(store: CertificateStore): Promise<Certificate | undefined> {
  const pair = await store.current();
  if (pair === undefined) return undefined;
  try {
    return parseCertificatePem(pair.certificatePem);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** @returns undefined if it cannot be read */
async function nodeKubeconfig({ kubeconfigPath }: CertificateStore): Promise<RestConfig | undefined> {
  try {
    return (await loadKubeconfig(kubeconfigPath)).config;
  } catch (error) {
    if (error instanceof LabError) return undefined;
    throw error;
  }
}

function hasSameCa(own: RestConfig, cluster: RestConfig): boolean {
  return own.caPem !== undefined && cluster.caPem !== undefined && isSamePem(own.caPem, cluster.caPem);
}

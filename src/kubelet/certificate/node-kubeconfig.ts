import { kubeconfigText } from "../../staging/client-go/clientcmd/kubeconfig-text.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import type { Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import { withoutEnding } from "../../util/text/linear-text.js";
import { CertificateObserver } from "./certificate-observer.js";
import type { CertificateStore } from "./certificate-store.js";

/**
 * Writes the node's kubeconfig: the cluster's address and CA, and the names of the key and certificate files.
 * Mirrors pkg/kubelet/certificate/bootstrap/bootstrap.go (writeKubeconfigFromBootstrapping).
 */
export async function writeNodeKubeconfig(store: CertificateStore, trace: Trace, config: RestConfig): Promise<void> {
  await new CertificateObserver(trace).writingKubeconfig(store, () =>
    store.writeKubeconfig(
      kubeconfigText(
        config,
        { cluster: "default-cluster", user: "default-auth", context: "default-context" },
        { clientCertificate: "kubelet.pem", clientKey: "kubelet.key" },
      ),
    ),
  );
}

/**
 * Replaces an outdated server address in the node's own kubeconfig. The CA and the node's identity stay its own.
 *
 * Differs: upstream has only one kubeconfig, which an administrator must edit.
 *
 * @param own the node's kubeconfig
 * @param cluster where the cluster is now
 * @returns undefined when the address is already current
 */
export function movedTo(own: RestConfig, cluster: RestConfig): RestConfig | undefined {
  const plain = ({ server }: RestConfig) => withoutEnding(server, "/");
  if (plain(own) === plain(cluster)) return undefined;
  const { tlsServerName: _, ...rest } = own;
  const { server, tlsServerName } = cluster;
  return { ...rest, server, ...defined({ tlsServerName }) };
}

/** Saves the new address if this program wrote the kubeconfig; leaves any other kubeconfig alone. */
export async function noteMove(store: CertificateStore, trace: Trace, config: RestConfig): Promise<void> {
  const pair = await store.current();
  if (pair === undefined || pair.certificatePem !== config.clientCertificatePem) return;
  await writeNodeKubeconfig(store, trace, config);
}

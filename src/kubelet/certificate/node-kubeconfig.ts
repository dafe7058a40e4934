import { kubeconfigText } from "../../client-go/clientcmd/kubeconfig-text.js";
import type { RestConfig } from "../../client-go/rest/client.js";
import type { Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import type { CertificateStore } from "./certificate-store.js";

/**
 * Writes the node's kubeconfig: where the cluster is, and the names of the files that key and certificate are in.
 * Mirrors pkg/kubelet/certificate/bootstrap/bootstrap.go (writeKubeconfigFromBootstrapping).
 */
export async function writeNodeKubeconfig(store: CertificateStore, trace: Trace, config: RestConfig): Promise<void> {
  const upstream = {
    file: "pkg/kubelet/certificate/bootstrap/bootstrap.go",
    func: "writeKubeconfigFromBootstrapping",
  };
  await trace.step("kubelet", `Write ${store.kubeconfigPath}`, { upstream }, () =>
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
 * The node's own kubeconfig may name an address that its cluster has no more. The node goes where it is told to: whom it
 * trusts there, and who it is, stay its own.
 *
 * Differs: upstream has one kubeconfig only, which somebody has to change.
 *
 * @param own what the node's kubeconfig says
 * @param cluster where the cluster is now
 * @returns undefined: it is that address already
 */
export function movedTo(own: RestConfig, cluster: RestConfig): RestConfig | undefined {
  const plain = ({ server }: RestConfig) => server.replace(/\/+$/, "");
  if (plain(own) === plain(cluster)) return undefined;
  const { tlsServerName: _, ...rest } = own;
  const { server, tlsServerName } = cluster;
  return { ...rest, server, ...defined({ tlsServerName }) };
}

/** Writes the new address down, if the kubeconfig is one that was written here: one of another make is left alone. */
export async function noteMove(store: CertificateStore, trace: Trace, config: RestConfig): Promise<void> {
  const pair = await store.current();
  if (pair === undefined || pair.certificatePem !== config.clientCertificatePem) return;
  await writeNodeKubeconfig(store, trace, config);
}

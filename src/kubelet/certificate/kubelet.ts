import type { KeyObject } from "node:crypto";
import { isIP } from "node:net";
import type { CertificateConfig } from "../../staging/client-go/certificate/manager.js";
import type { SwitchingClient } from "../../staging/client-go/rest/switching-client.js";
import { NO_SANS, type SubjectAltNames } from "../../staging/pki/sans.js";
import { KUBELET_SERVING } from "../../staging/pki/signers.js";
import { clientUsages, KUBELET_CLIENT_SIGNER, nodeSubject } from "./node-identity.js";

export interface KubeletCertificateOptions
  extends Pick<CertificateConfig, "kubeVersion" | "expirationSeconds" | "metrics"> {
  readonly nodeName: string;
}

/**
 * The node's client certificate: the kubelet requests it with the certificate in use, and a controller approves it.
 * Mirrors pkg/kubelet/certificate/kubelet.go (NewKubeletClientCertificateManager).
 */
export function kubeletClientCertificate(
  client: SwitchingClient,
  store: CertificateConfig["store"],
  { nodeName, ...options }: KubeletCertificateOptions,
): CertificateConfig {
  return {
    ...options,
    name: "client certificate",
    signerName: KUBELET_CLIENT_SIGNER,
    template: { subject: nodeSubject(nodeName), usages: (key) => clientUsages(options.kubeVersion, key) },
    store,
    onCertificate: async ({ certificatePem, keyPem }) => {
      if (certificatePem === client.config.clientCertificatePem) return;
      await client.switchTo({ ...client.config, clientCertificatePem: certificatePem, clientKeyPem: keyPem });
    },
  };
}

/**
 * The certificate of the kubelet's server. A user must approve each request, because no controller does for this
 * signer.
 *
 * Mirrors pkg/kubelet/certificate/kubelet.go (NewKubeletServerCertificateManager).
 * @param store a folder other than the client certificate's, because the files have the same names
 * @param addresses the node's IP addresses and host names
 */
export function kubeletServerCertificate(
  { store, onCertificate }: Pick<CertificateConfig, "store" | "onCertificate">,
  { nodeName, addresses, ...options }: KubeletCertificateOptions & { readonly addresses: readonly string[] },
): CertificateConfig {
  const usages = (key: KeyObject) => servingUsages(options.kubeVersion, key);
  return {
    ...options,
    name: "serving certificate",
    signerName: KUBELET_SERVING,
    template: { subject: nodeSubject(nodeName), sans: sansOf(addresses), usages },
    store,
    onCertificate,
    requestedNote: (csr) => `No controller approves serving certificates: kubectl certificate approve ${csr}`,
  };
}

/** Mirrors addressesToHostnamesAndIPs. */
function sansOf(addresses: readonly string[]): SubjectAltNames {
  const unique = [...new Set(addresses)].sort();
  return {
    ...NO_SANS,
    ip: unique.filter((address) => isIP(address) !== 0),
    dns: unique.filter((address) => isIP(address) === 0),
  };
}

/** As a client certificate, with the usage for servers. */
function servingUsages(kubeVersion: string, key: KeyObject): readonly string[] {
  return clientUsages(kubeVersion, key).map((usage) => (usage === "client auth" ? "server auth" : usage));
}

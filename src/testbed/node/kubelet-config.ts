import { type KubeletConfiguration, setDefaults } from "../../kubelet/apis/config/defaults.js";
import type { KubeletConfigurationFields } from "../../kubelet/apis/config/fields.js";

/** `simulated`: the embedded runtime's, which has no `/etc/resolv.conf` */
export type MachineKind = "real" | "simulated";

/**
 * The fields that kubelab sets in a kubelet's configuration, as kubeadm does: the cluster's DNS, and the renewal of the
 * node's certificate. All addresses are loopback, so other machines cannot reach them.
 *
 * Mirrors kubeletConfig.Default in cmd/kubeadm/app/componentconfigs/kubelet.go.
 */
export function joinFields(machine: MachineKind): KubeletConfigurationFields {
  return {
    address: "127.0.0.1",
    rotateCertificates: true,
    clusterDomain: "cluster.local",
    clusterDNS: ["10.96.0.10"],
    ...(machine === "simulated" ? { resolvConf: "" } : {}),
  };
}

/** The configuration of a node that no file configures. @param fields in place of kubelab's own, and of the defaults */
export function nodeConfiguration(
  kubeVersion: string,
  fields: KubeletConfigurationFields = {},
  machine: MachineKind = "simulated",
): KubeletConfiguration {
  return setDefaults({ ...joinFields(machine), ...fields }, kubeVersion);
}

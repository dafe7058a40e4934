import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { binding, role } from "../apiserver/auth/policy/notation.js";
import { LOCAL_PATH_ACCOUNT, LOCAL_PATH_PROVISIONER, NAMESPACE } from "../controllers/volume/local-path-objects.js";

const ROLE = "local-path-provisioner-role";

/**
 * The class of claims that name none, as kind has it, and the account of its provisioner, which makes folders on nodes.
 * Follows the manifest of rancher/local-path-provisioner.
 */
export function defaultStorageObjects(): KubeObject[] {
  const rules = [
    "get,list,watch core nodes,persistentvolumeclaims,pods,persistentvolumes",
    "get,list,watch storage.k8s.io storageclasses",
    "create,delete core pods,persistentvolumes",
    "update,patch core persistentvolumeclaims",
    "create,patch,update core events",
  ];
  return [
    {
      kind: "StorageClass",
      apiVersion: "storage.k8s.io/v1",
      metadata: { name: "standard", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: LOCAL_PATH_PROVISIONER,
      reclaimPolicy: "Delete",
      volumeBindingMode: "WaitForFirstConsumer",
    },
    { kind: "ServiceAccount", apiVersion: "v1", metadata: { name: LOCAL_PATH_ACCOUNT, namespace: NAMESPACE } },
    role([ROLE, ...rules], { isKubeadm: true }),
    binding("local-path-provisioner-bind", ROLE, [`ServiceAccount ${NAMESPACE}/${LOCAL_PATH_ACCOUNT}`], {
      isKubeadm: true,
    }),
  ];
}

import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import {
  type Claim,
  PROVISIONED_BY,
  requestedBy,
  type StorageClass,
  type Volume,
} from "../../../staging/component-helpers/storage/volume.js";

/** The objects of the provisioner of folders. Follows rancher/local-path-provisioner. */

export const LOCAL_PATH_PROVISIONER = "rancher.io/local-path";
/** Where its helper pods run, as with k3s. */
export const NAMESPACE = "kube-system";
/** On a volume: the node that has its folder. */
export const VOLUME_NODE = "local.path.provisioner/selected-node";
export const LOCAL_PATH_ACCOUNT = "local-path-provisioner-service-account";
const FOLDER = "/opt/local-path-provisioner";
const IMAGE = "busybox:1.36";

/** `pvc-<uid>` */
export function volumeNameOf({ metadata }: Claim): string {
  return `pvc-${metadata.uid}`;
}

/** `/opt/local-path-provisioner/pvc-<uid>_<namespace>_<claim>` */
function folderOf(about: Claim | Volume): string {
  const { spec } = about as Volume;
  if (spec?.hostPath) return spec.hostPath.path;
  return `${FOLDER}/${volumeNameOf(about as Claim)}_${about.metadata.namespace}_${nameOf(about)}`;
}

/** The volume of a claim: a folder of one node. */
export function localPathVolume(claim: Claim, storageClass: StorageClass, node: string, hostname: string): Volume {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const isThere = { key: "kubernetes.io/hostname", operator: "In", values: [hostname] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name: volumeNameOf(claim),
      annotations: { [VOLUME_NODE]: node, [PROVISIONED_BY]: LOCAL_PATH_PROVISIONER },
    },
    spec: {
      capacity: { storage: requestedBy(claim) },
      accessModes: claim.spec?.accessModes ?? [],
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
      storageClassName: nameOf(storageClass),
      volumeMode: "Filesystem",
      claimRef: { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid, resourceVersion },
      hostPath: { path: folderOf(claim), type: "DirectoryOrCreate" },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [isThere] }] } },
    },
  } as Volume;
}

/** On a helper pod: what it works for. */
export const HELPS = { create: "kubelab.dev/claim", delete: "kubelab.dev/volume" } as const;

export function helperName(action: keyof typeof HELPS, volumeName: string): string {
  return `helper-pod-${action}-${volumeName}`;
}

/** A pod on the volume's node that makes or removes its folder, with all defaults: controllers write complete objects. */
export function helperPod(action: keyof typeof HELPS, about: Claim | Volume, node: string): KubeObject {
  const volumeName = about.kind === "PersistentVolume" ? nameOf(about) : volumeNameOf(about as Claim);
  const script = action === "create" ? 'mkdir -m 0777 -p "$VOL_DIR"' : 'rm -rf "$VOL_DIR"';
  const container = {
    name: "helper-pod",
    image: IMAGE,
    imagePullPolicy: "IfNotPresent",
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    command: ["/bin/sh", "-c", script],
    env: [{ name: "VOL_DIR", value: folderOf(about) }],
    volumeMounts: [{ name: "data", mountPath: FOLDER }],
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: helperName(action, volumeName),
      namespace: NAMESPACE,
      annotations: { [HELPS[action]]: keyOf(about) },
    },
    spec: {
      restartPolicy: "Never",
      dnsPolicy: "ClusterFirst",
      schedulerName: "default-scheduler",
      terminationGracePeriodSeconds: 30,
      nodeName: node,
      serviceAccountName: LOCAL_PATH_ACCOUNT,
      automountServiceAccountToken: false,
      tolerations: [{ operator: "Exists" }],
      containers: [container],
      volumes: [{ name: "data", hostPath: { path: FOLDER, type: "DirectoryOrCreate" } }],
    },
  } as KubeObject;
}

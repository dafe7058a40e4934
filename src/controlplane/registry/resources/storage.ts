import type { KubeObject } from "../../../apimachinery/api/meta.js";
import type { ResourceDefinition } from "../definition.js";
import { bool, fields, items, text } from "./access.js";
import { AGE_COLUMN, ageOf, column, countOf, NAME_COLUMN, nameOf, UNKNOWN } from "./cells.js";
import { row, statusOf } from "./rows.js";
import { PLAIN, specAndStatus } from "./stored.js";

/** Volumes and storage classes: stored for kubelets and users to read. Differs: nothing binds or provisions. */

const GROUP_VERSION = "storage.k8s.io/v1";

const ACCESS_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

function accessModesCell(modes: unknown): string {
  return [...new Set(items(modes).map(text))].map((mode) => ACCESS_MODES[mode] ?? mode).join(",");
}

function phaseCell(object: KubeObject): string {
  return object.metadata.deletionTimestamp === undefined ? text(fields(object.status).phase) : "Terminating";
}

function storageClassOf(object: KubeObject): string {
  return (
    object.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ??
    text(fields(object.spec).storageClassName)
  );
}

export const PERSISTENT_VOLUME_CLAIMS = row(
  "v1",
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
  specAndStatus({ freshStatus: () => ({ phase: "Pending" }) }),
  {
    shortNames: ["pvc"],
    deleteReturnsObject: true,
    subresources: [statusOf()],
    table: {
      columns: [
        NAME_COLUMN,
        column("Status", "Whether a volume is bound to it."),
        column("Volume", "The volume that is bound to it."),
        column("Capacity", "The capacity of that volume."),
        column("Access Modes", "How nodes can mount it."),
        column("StorageClass", "The storage class of the claim."),
        AGE_COLUMN,
        column("VolumeMode", "Filesystem or Block.", { wide: true }),
      ],
      cells(claim, nowMs) {
        const spec = fields(claim.spec);
        const status = fields(claim.status);
        const isBound = text(spec.volumeName) !== "";
        return [
          nameOf(claim),
          phaseCell(claim),
          text(spec.volumeName),
          isBound ? text(fields(status.capacity).storage) : "",
          isBound ? accessModesCell(status.accessModes) : "",
          storageClassOf(claim),
          ageOf(claim, nowMs),
          text(spec.volumeMode) === "" ? "<unset>" : text(spec.volumeMode),
        ];
      },
    },
  },
);

export const PERSISTENT_VOLUMES = row(
  "v1",
  "PersistentVolume",
  "persistentvolumes",
  specAndStatus({ freshStatus: () => ({ phase: "Pending" }) }),
  {
    namespaced: false,
    shortNames: ["pv"],
    deleteReturnsObject: true,
    subresources: [statusOf()],
    table: {
      columns: [
        NAME_COLUMN,
        column("Capacity", "The capacity of the volume."),
        column("Access Modes", "How nodes can mount it."),
        column("Reclaim Policy", "What happens to it when its claim is deleted."),
        column("Status", "Whether it is free, bound or released."),
        column("Claim", "The claim that it is bound to."),
        column("StorageClass", "The storage class of the volume."),
        column("Reason", "Why it failed, in one word."),
        AGE_COLUMN,
        column("VolumeMode", "Filesystem or Block.", { wide: true }),
      ],
      cells(volume, nowMs) {
        const spec = fields(volume.spec);
        const claim = fields(spec.claimRef);
        return [
          nameOf(volume),
          text(fields(spec.capacity).storage),
          accessModesCell(spec.accessModes),
          text(spec.persistentVolumeReclaimPolicy),
          phaseCell(volume),
          text(claim.name) === "" ? "" : `${text(claim.namespace)}/${text(claim.name)}`,
          storageClassOf(volume),
          text(fields(volume.status).reason),
          ageOf(volume, nowMs),
          text(spec.volumeMode) === "" ? "<unset>" : text(spec.volumeMode),
        ];
      },
    },
  },
);

const CSI_DRIVERS = row(GROUP_VERSION, "CSIDriver", "csidrivers", PLAIN, {
  namespaced: false,
  deleteReturnsObject: true,
  table: {
    columns: [
      NAME_COLUMN,
      column("AttachRequired", "Whether volumes must be attached before they are mounted.", { type: "boolean" }),
      column("PodInfoOnMount", "Whether the driver gets the pod's information at mount.", { type: "boolean" }),
      column("StorageCapacity", "Whether scheduling considers the capacity that it reports.", { type: "boolean" }),
      column("TokenRequests", "Audiences of the service account tokens that it needs."),
      column("RequiresRepublish", "Whether it must be called periodically.", { type: "boolean" }),
      column("Modes", "Persistent volumes, inline volumes, or both."),
      AGE_COLUMN,
    ],
    cells(driver, nowMs) {
      const spec = fields(driver.spec);
      const audiences = items(spec.tokenRequests).map((one) => text(fields(one).audience));
      const modes = items(spec.volumeLifecycleModes).map(text);
      return [
        nameOf(driver),
        bool(spec.attachRequired) ?? true,
        bool(spec.podInfoOnMount) ?? false,
        bool(spec.storageCapacity) ?? false,
        audiences.length === 0 ? "<unset>" : audiences.join(","),
        bool(spec.requiresRepublish) ?? false,
        modes.length === 0 ? "Persistent" : modes.join(","),
        ageOf(driver, nowMs),
      ];
    },
  },
});

const CSI_NODES = row(GROUP_VERSION, "CSINode", "csinodes", PLAIN, {
  namespaced: false,
  deleteReturnsObject: true,
  table: {
    columns: [
      NAME_COLUMN,
      column("Drivers", "Drivers indicates the number of CSI drivers registered on the node", { type: "integer" }),
      AGE_COLUMN,
    ],
    cells: (node, nowMs) => [nameOf(node), countOf(fields(node.spec).drivers), ageOf(node, nowMs)],
  },
});

const DEFAULT_CLASS_ANNOTATIONS = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

const STORAGE_CLASSES = row(GROUP_VERSION, "StorageClass", "storageclasses", PLAIN, {
  namespaced: false,
  shortNames: ["sc"],
  deleteReturnsObject: true,
  table: {
    columns: [
      NAME_COLUMN,
      column("Provisioner", "The provisioner of its volumes."),
      column("ReclaimPolicy", "What happens to its volumes when their claims are deleted."),
      column("VolumeBindingMode", "Whether volumes are created at once, or when a pod needs them."),
      column("AllowVolumeExpansion", "Whether its volumes can grow."),
      AGE_COLUMN,
    ],
    cells(storageClass, nowMs) {
      const isDefault = DEFAULT_CLASS_ANNOTATIONS.some((key) => storageClass.metadata.annotations?.[key] === "true");
      return [
        isDefault ? `${nameOf(storageClass)} (default)` : nameOf(storageClass),
        text(storageClass.provisioner),
        text(storageClass.reclaimPolicy) === "" ? "Delete" : text(storageClass.reclaimPolicy),
        text(storageClass.volumeBindingMode) === "" ? "Immediate" : text(storageClass.volumeBindingMode),
        bool(storageClass.allowVolumeExpansion) ?? false,
        ageOf(storageClass, nowMs),
      ];
    },
  },
});

const VOLUME_ATTACHMENTS = row(GROUP_VERSION, "VolumeAttachment", "volumeattachments", specAndStatus(), {
  namespaced: false,
  deleteReturnsObject: true,
  subresources: [statusOf()],
  table: {
    columns: [
      NAME_COLUMN,
      column("Attacher", "The driver that attaches."),
      column("PV", "The volume to attach."),
      column("Node", "The node to attach it to."),
      column("Attached", "Whether it is attached.", { type: "boolean" }),
      AGE_COLUMN,
    ],
    cells(attachment, nowMs) {
      const spec = fields(attachment.spec);
      const volume = text(fields(spec.source).persistentVolumeName);
      return [
        nameOf(attachment),
        text(spec.attacher),
        volume === "" ? UNKNOWN : volume,
        text(spec.nodeName),
        bool(fields(attachment.status).attached) ?? false,
        ageOf(attachment, nowMs),
      ];
    },
  },
});

const CSI_STORAGE_CAPACITIES = row(GROUP_VERSION, "CSIStorageCapacity", "csistoragecapacities", PLAIN, {
  table: {
    columns: [
      NAME_COLUMN,
      column("StorageClassName", "The storage class."),
      column("Capacity", "The capacity that is left."),
    ],
    cells: (capacity) => [nameOf(capacity), text(capacity.storageClassName), text(capacity.capacity)],
  },
});

export const STORAGE: readonly ResourceDefinition[] = [
  CSI_DRIVERS,
  CSI_NODES,
  CSI_STORAGE_CAPACITIES,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
];

import type {
  V1CSIDriver,
  V1CSINode,
  V1CSIStorageCapacity,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1StorageClass,
  V1VolumeAttachment,
} from "@kubernetes/client-node";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isDefaultClass, storageClassOf } from "../../../../staging/component-helpers/storage/volume.js";
import { AGE_COLUMN, ageOf, column, countOf, NAME_COLUMN, UNKNOWN } from "../rest/cells.js";
import type { ResourceDefinition } from "../rest/definition.js";
import { row, statusOf } from "../rest/rows.js";
import { PLAIN, specAndStatus } from "../rest/stored.js";
import {
  validateAttachmentUpdate,
  validateCapacity,
  validateCapacityUpdate,
  validateCsiNode,
  validateDriver,
  validateDriverUpdate,
  validateNewAttachment,
} from "./csi-validation.js";
import {
  validateClaim,
  validateClaimUpdate,
  validateClass,
  validateClassUpdate,
  validateVolume,
  validateVolumeUpdate,
} from "./volume-validation.js";

/** Volumes and storage classes: stored for kubelets, controllers and users to read. */

const GROUP_VERSION = "storage.k8s.io/v1";

const ACCESS_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

type Volume = Wire<V1PersistentVolume> | Wire<V1PersistentVolumeClaim>;

function accessModesCell(modes: readonly string[] | null | undefined): string {
  return [...new Set(modes)].map((mode) => ACCESS_MODES[mode] ?? mode).join(",");
}

function phaseCell({ metadata, status }: Volume): string {
  return metadata.deletionTimestamp === undefined ? (status?.phase ?? "") : "Terminating";
}

export const PERSISTENT_VOLUME_CLAIMS = row(
  "v1",
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
  specAndStatus({
    freshStatus: () => ({ phase: "Pending" }),
    strategy: { validate: validateClaim, validateUpdate: validateClaimUpdate },
  }),
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
      cells(claim: Wire<V1PersistentVolumeClaim>, nowMs) {
        const { spec = {}, status = {} } = claim;
        const { volumeName = "" } = spec;
        const isBound = volumeName !== "";
        return [
          nameOf(claim),
          phaseCell(claim),
          volumeName,
          isBound ? (status.capacity?.["storage"] ?? "") : "",
          isBound ? accessModesCell(status.accessModes) : "",
          storageClassOf(claim),
          ageOf(claim, nowMs),
          spec.volumeMode || "<unset>",
        ];
      },
    },
  },
);

export const PERSISTENT_VOLUMES = row(
  "v1",
  "PersistentVolume",
  "persistentvolumes",
  specAndStatus({
    freshStatus: () => ({ phase: "Pending" }),
    strategy: { validate: validateVolume, validateUpdate: validateVolumeUpdate },
  }),
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
      cells(volume: Wire<V1PersistentVolume>, nowMs) {
        const { spec = {}, status } = volume;
        const { claimRef: claim } = spec;
        return [
          nameOf(volume),
          spec.capacity?.["storage"] ?? "",
          accessModesCell(spec.accessModes),
          spec.persistentVolumeReclaimPolicy ?? "",
          phaseCell(volume),
          claim?.name ? `${claim.namespace ?? ""}/${claim.name}` : "",
          storageClassOf(volume),
          status?.reason ?? "",
          ageOf(volume, nowMs),
          spec.volumeMode || "<unset>",
        ];
      },
    },
  },
);

const DRIVER_STRATEGY = { ...PLAIN, validate: validateDriver, validateUpdate: validateDriverUpdate };

const CSI_DRIVERS = row(GROUP_VERSION, "CSIDriver", "csidrivers", DRIVER_STRATEGY, {
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
    cells(driver: Wire<V1CSIDriver>, nowMs) {
      const { spec } = driver;
      const audiences = (spec.tokenRequests ?? []).map(({ audience }) => audience);
      const modes = spec.volumeLifecycleModes ?? [];
      return [
        nameOf(driver),
        spec.attachRequired ?? true,
        spec.podInfoOnMount ?? false,
        spec.storageCapacity ?? false,
        audiences.length === 0 ? "<unset>" : audiences.join(","),
        spec.requiresRepublish ?? false,
        modes.length === 0 ? "Persistent" : modes.join(","),
        ageOf(driver, nowMs),
      ];
    },
  },
});

const NODE_STRATEGY = { ...PLAIN, validate: validateCsiNode, validateUpdate: validateCsiNode };

const CSI_NODES = row(GROUP_VERSION, "CSINode", "csinodes", NODE_STRATEGY, {
  namespaced: false,
  deleteReturnsObject: true,
  table: {
    columns: [
      NAME_COLUMN,
      column("Drivers", "Drivers indicates the number of CSI drivers registered on the node", { type: "integer" }),
      AGE_COLUMN,
    ],
    cells: (node: Wire<V1CSINode>, nowMs) => [nameOf(node), countOf(node.spec.drivers), ageOf(node, nowMs)],
  },
});

const CLASS_STRATEGY = { ...PLAIN, validate: validateClass, validateUpdate: validateClassUpdate };

const STORAGE_CLASSES = row(GROUP_VERSION, "StorageClass", "storageclasses", CLASS_STRATEGY, {
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
    cells(storageClass: Wire<V1StorageClass>, nowMs) {
      const isDefault = isDefaultClass(storageClass);
      return [
        isDefault ? `${nameOf(storageClass)} (default)` : nameOf(storageClass),
        storageClass.provisioner,
        storageClass.reclaimPolicy || "Delete",
        storageClass.volumeBindingMode || "Immediate",
        storageClass.allowVolumeExpansion ?? false,
        ageOf(storageClass, nowMs),
      ];
    },
  },
});

const ATTACHMENT_STRATEGY = specAndStatus({
  strategy: { validate: validateNewAttachment, validateUpdate: validateAttachmentUpdate },
});

const VOLUME_ATTACHMENTS = row(GROUP_VERSION, "VolumeAttachment", "volumeattachments", ATTACHMENT_STRATEGY, {
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
    cells(attachment: Wire<V1VolumeAttachment>, nowMs) {
      const { spec, status } = attachment;
      return [
        nameOf(attachment),
        spec.attacher,
        spec.source?.persistentVolumeName || UNKNOWN,
        spec.nodeName,
        status?.attached ?? false,
        ageOf(attachment, nowMs),
      ];
    },
  },
});

const CAPACITY_STRATEGY = { ...PLAIN, validate: validateCapacity, validateUpdate: validateCapacityUpdate };

const CSI_STORAGE_CAPACITIES = row(GROUP_VERSION, "CSIStorageCapacity", "csistoragecapacities", CAPACITY_STRATEGY, {
  table: {
    columns: [
      NAME_COLUMN,
      column("StorageClassName", "The storage class."),
      column("Capacity", "The capacity that is left."),
    ],
    cells: (capacity: Wire<V1CSIStorageCapacity>) => [
      nameOf(capacity),
      capacity.storageClassName,
      capacity.capacity ?? "",
    ],
  },
});

export const STORAGE: readonly ResourceDefinition[] = [
  CSI_DRIVERS,
  CSI_NODES,
  CSI_STORAGE_CAPACITIES,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
];

import type {
  V1ControllerRevision,
  V1DaemonSet,
  V1Deployment,
  V1PodTemplate,
  V1ReplicaSet,
  V1ReplicationController,
  V1StatefulSet,
} from "@kubernetes/client-node";
import type { KubeObject } from "../../../apimachinery/api/meta.js";
import type { Wire } from "../../../apimachinery/wire.js";
import type { ResourceDefinition, TableDefinition } from "../definition.js";
import {
  AGE_COLUMN,
  ageOf,
  column,
  containerCells,
  formatLabelSelector,
  formatLabels,
  NAME_COLUMN,
  NONE,
  nameOf,
} from "./cells.js";
import { row, SCALE, statusOf } from "./rows.js";
import { PLAIN, specAndStatus } from "./stored.js";

/**
 * Workloads: kubectl drain and describe read them, but no controller here runs them.
 * Mirrors pkg/registry/apps and their printers. Differs: no controllers, and validation of only shape and metadata.
 */

const CONTAINERS = column("Containers", "Names of the containers in the template.", { wide: true });
const IMAGES = column("Images", "Images of the containers in the template.", { wide: true });
const SELECTOR = column("Selector", "The selector of its pods.", { wide: true });

function count(column: string, description: string) {
  return { name: column, type: "integer" as const, format: "", description, priority: 0 };
}

const DESIRED = count("Desired", "The number of pods wanted.");
const CURRENT = count("Current", "The number of pods.");
const READY = count("Ready", "The number of ready pods.");
const UP_TO_DATE = count("Up-to-date", "The number of pods with the newest template.");
const AVAILABLE = count("Available", "The number of pods that have been ready long enough.");

const REPLICAS_TABLE: TableDefinition = {
  columns: [NAME_COLUMN, DESIRED, CURRENT, READY, AGE_COLUMN, CONTAINERS, IMAGES, SELECTOR],
  cells(object: Wire<V1ReplicaSet> | Wire<V1ReplicationController>, nowMs) {
    const { spec, status } = object;
    const { template } = spec ?? {};
    return [
      nameOf(object),
      spec?.replicas ?? 0,
      status?.replicas ?? 0,
      status?.readyReplicas ?? 0,
      ageOf(object, nowMs),
      ...containerCells(template),
      isReplicationController(object)
        ? formatLabels(object.spec?.selector)
        : formatLabelSelector(object.spec?.selector),
    ];
  },
};

/** Its selector is a plain map. */
function isReplicationController(
  object: Wire<V1ReplicaSet> | Wire<V1ReplicationController>,
): object is Wire<V1ReplicationController> {
  return object.kind === "ReplicationController";
}

const DEPLOYMENT_TABLE: TableDefinition = {
  columns: [
    NAME_COLUMN,
    column("Ready", "Ready pods out of the pods wanted."),
    column("Up-to-date", UP_TO_DATE.description),
    column("Available", AVAILABLE.description),
    AGE_COLUMN,
    CONTAINERS,
    IMAGES,
    SELECTOR,
  ],
  cells(deployment: Wire<V1Deployment>, nowMs) {
    const { spec, status } = deployment;
    return [
      nameOf(deployment),
      `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
      status?.updatedReplicas ?? 0,
      status?.availableReplicas ?? 0,
      ageOf(deployment, nowMs),
      ...containerCells(spec?.template),
      formatLabelSelector(spec?.selector),
    ];
  },
};

const DAEMON_SET_TABLE: TableDefinition = {
  columns: [
    NAME_COLUMN,
    DESIRED,
    CURRENT,
    READY,
    UP_TO_DATE,
    AVAILABLE,
    column("Node Selector", "Labels of the nodes that it runs on."),
    AGE_COLUMN,
    CONTAINERS,
    IMAGES,
    SELECTOR,
  ],
  cells(daemonSet: Wire<V1DaemonSet>, nowMs) {
    const { spec, status } = daemonSet;
    return [
      nameOf(daemonSet),
      status?.desiredNumberScheduled ?? 0,
      status?.currentNumberScheduled ?? 0,
      status?.numberReady ?? 0,
      status?.updatedNumberScheduled ?? 0,
      status?.numberAvailable ?? 0,
      formatLabels(spec?.template?.spec?.nodeSelector),
      ageOf(daemonSet, nowMs),
      ...containerCells(spec?.template),
      formatLabelSelector(spec?.selector),
    ];
  },
};

const STATEFUL_SET_TABLE: TableDefinition = {
  columns: [NAME_COLUMN, column("Ready", "Ready pods out of the pods wanted."), AGE_COLUMN, CONTAINERS, IMAGES],
  cells(statefulSet: Wire<V1StatefulSet>, nowMs) {
    const { spec, status } = statefulSet;
    return [
      nameOf(statefulSet),
      `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
      ageOf(statefulSet, nowMs),
      ...containerCells(spec?.template),
    ];
  },
};

function controllerCell(object: KubeObject): string {
  const owner = object.metadata.ownerReferences?.find((one) => one.controller === true);
  if (owner === undefined) return NONE;
  const slash = owner.apiVersion.indexOf("/");
  const group = slash < 0 ? "" : `.${owner.apiVersion.slice(0, slash)}`;
  return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
}

const REVISION_TABLE: TableDefinition = {
  columns: [
    NAME_COLUMN,
    column("Controller", "The object whose template is kept."),
    column("Revision", "The revision of the template."),
    AGE_COLUMN,
  ],
  cells: (revision: Wire<V1ControllerRevision>, nowMs) => [
    nameOf(revision),
    controllerCell(revision),
    revision.revision,
    ageOf(revision, nowMs),
  ],
};

const TEMPLATE_TABLE: TableDefinition = {
  columns: [
    NAME_COLUMN,
    column("Containers", CONTAINERS.description),
    column("Images", IMAGES.description),
    column("Pod Labels", "Labels of its pods."),
  ],
  cells: (object: Wire<V1PodTemplate>) => [
    nameOf(object),
    ...containerCells(object.template),
    formatLabels(object.template?.metadata?.labels),
  ],
};

const STRATEGY = specAndStatus({ counted: true });

function replicasField({ status }: Wire<V1ReplicaSet>): Record<string, string> {
  return { "status.replicas": String(status?.replicas ?? 0) };
}

function workload(kind: string, resource: string, short: string, table: TableDefinition, isScaled: boolean) {
  return row("apps/v1", kind, resource, STRATEGY, {
    shortNames: [short],
    categories: ["all"],
    table,
    subresources: isScaled ? [SCALE, statusOf()] : [statusOf()],
  });
}

export const WORKLOADS: readonly ResourceDefinition[] = [
  row("apps/v1", "ControllerRevision", "controllerrevisions", PLAIN, { table: REVISION_TABLE }),
  workload("DaemonSet", "daemonsets", "ds", DAEMON_SET_TABLE, false),
  workload("Deployment", "deployments", "deploy", DEPLOYMENT_TABLE, true),
  { ...workload("ReplicaSet", "replicasets", "rs", REPLICAS_TABLE, true), selectableFields: replicasField },
  workload("StatefulSet", "statefulsets", "sts", STATEFUL_SET_TABLE, true),
];

export const POD_TEMPLATES = row("v1", "PodTemplate", "podtemplates", PLAIN, {
  deleteReturnsObject: true,
  table: TEMPLATE_TABLE,
});

export const REPLICATION_CONTROLLERS = row("v1", "ReplicationController", "replicationcontrollers", STRATEGY, {
  shortNames: ["rc"],
  categories: ["all"],
  table: REPLICAS_TABLE,
  selectableFields: replicasField,
  subresources: [SCALE, statusOf()],
});

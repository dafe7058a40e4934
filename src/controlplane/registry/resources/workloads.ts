import type { KubeObject } from "../../../apimachinery/api/meta.js";
import type { ResourceDefinition, TableDefinition } from "../definition.js";
import { fields, number } from "./access.js";
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

function countOf(part: unknown, field: string): number {
  return number(fields(part)[field]) ?? 0;
}

const DESIRED = count("Desired", "The number of pods wanted.");
const CURRENT = count("Current", "The number of pods.");
const READY = count("Ready", "The number of ready pods.");
const UP_TO_DATE = count("Up-to-date", "The number of pods with the newest template.");
const AVAILABLE = count("Available", "The number of pods that have been ready long enough.");

const REPLICAS_TABLE: TableDefinition = {
  columns: [NAME_COLUMN, DESIRED, CURRENT, READY, AGE_COLUMN, CONTAINERS, IMAGES, SELECTOR],
  cells(object, nowMs) {
    const { replicas, template, selector } = fields(object.spec);
    // A replication controller's selector is a plain map.
    const shown = object.kind === "ReplicationController" ? formatLabels(selector) : formatLabelSelector(selector);
    return [
      nameOf(object),
      number(replicas) ?? 0,
      countOf(object.status, "replicas"),
      countOf(object.status, "readyReplicas"),
      ageOf(object, nowMs),
      ...containerCells(template),
      shown,
    ];
  },
};

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
  cells(deployment, nowMs) {
    const { replicas, template, selector } = fields(deployment.spec);
    return [
      nameOf(deployment),
      `${countOf(deployment.status, "readyReplicas")}/${number(replicas) ?? 0}`,
      countOf(deployment.status, "updatedReplicas"),
      countOf(deployment.status, "availableReplicas"),
      ageOf(deployment, nowMs),
      ...containerCells(template),
      formatLabelSelector(selector),
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
  cells(daemonSet, nowMs) {
    const { template, selector } = fields(daemonSet.spec);
    const counts = [
      "desiredNumberScheduled",
      "currentNumberScheduled",
      "numberReady",
      "updatedNumberScheduled",
      "numberAvailable",
    ];
    return [
      nameOf(daemonSet),
      ...counts.map((name) => countOf(daemonSet.status, name)),
      formatLabels(fields(fields(template).spec).nodeSelector),
      ageOf(daemonSet, nowMs),
      ...containerCells(template),
      formatLabelSelector(selector),
    ];
  },
};

const STATEFUL_SET_TABLE: TableDefinition = {
  columns: [NAME_COLUMN, column("Ready", "Ready pods out of the pods wanted."), AGE_COLUMN, CONTAINERS, IMAGES],
  cells(statefulSet, nowMs) {
    const { replicas, template } = fields(statefulSet.spec);
    return [
      nameOf(statefulSet),
      `${countOf(statefulSet.status, "readyReplicas")}/${number(replicas) ?? 0}`,
      ageOf(statefulSet, nowMs),
      ...containerCells(template),
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
  cells: (revision, nowMs) => [
    nameOf(revision),
    controllerCell(revision),
    number(revision.revision) ?? 0,
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
  cells: (object) => [
    nameOf(object),
    ...containerCells(object.template),
    formatLabels(fields(fields(object.template).metadata).labels),
  ],
};

const STRATEGY = specAndStatus({ counted: true });

function replicasField(object: KubeObject): Record<string, string> {
  return { "status.replicas": String(countOf(object.status, "replicas")) };
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

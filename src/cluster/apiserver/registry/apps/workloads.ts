import type {
  V1ControllerRevision,
  V1DaemonSet,
  V1Deployment,
  V1LabelSelector,
  V1PodTemplate,
  V1PodTemplateSpec,
  V1ReplicaSet,
  V1ReplicationController,
  V1StatefulSet,
} from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { templateWarnings, validatePodTemplateSpec } from "../core/pod-template.js";
import {
  AGE_COLUMN,
  ageOf,
  column,
  containerCells,
  formatLabelSelector,
  formatLabels,
  NAME_COLUMN,
  NONE,
} from "../rest/cells.js";
import type { ResourceDefinition, Strategy, TableDefinition } from "../rest/definition.js";
import { row, SCALE, statusOf } from "../rest/rows.js";
import { PLAIN, specAndStatus } from "../rest/stored.js";
import { withKnownFields } from "./stateful-set-fields.js";
import {
  DAEMON_SET_STATUS,
  DEPLOYMENT_STATUS,
  REPLICA_SET_STATUS,
  STATEFUL_SET_STATUS,
  statusStrategy,
} from "./workload-status-validation.js";
import {
  immutableSelector,
  validateControllerRevision,
  validateControllerRevisionUpdate,
  validateDaemonSet,
  validateDeployment,
  validateReplicaSet,
  validateReplicationController,
  validateStatefulSet,
  validateStatefulSetUpdate,
} from "./workload-validation.js";

/** Workloads. Mirrors pkg/registry/apps, pkg/registry/core/replicationcontroller and their printers. */

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

function replicasField({ status }: Wire<V1ReplicaSet>): Record<string, string> {
  return { "status.replicas": String(status?.replicas ?? 0) };
}

interface Rules extends Pick<Strategy, "prepareForCreate" | "prepareForUpdate" | "validateUpdate"> {
  validate(object: KubeObject): FieldError[];
  /** upstream warns if its name, which begins those of its pods, is no DNS label */
  readonly isNameInPods: boolean;
  /** the counts of a new object: Go writes those that are 0 */
  readonly freshStatus: object;
}

/** @param isScaled it has a /scale */
function workload(
  kind: string,
  resource: string,
  options: Rules & { readonly short: string; readonly table: TableDefinition; readonly isScaled: boolean },
  status: Pick<Strategy, "prepareForUpdate" | "validateUpdate">,
) {
  const { short, table, isScaled, freshStatus, isNameInPods, ...rules } = options;
  // Unless a kind says otherwise, an update is checked as a new object, with the selector it has.
  const validateUpdate: Strategy["validateUpdate"] = (object, old) => [
    ...rules.validate(object),
    ...sameSelector(object, old),
  ];
  const strategy = { validateUpdate, ...templateWarnings("spec.template", templateOf, { isNameInPods }), ...rules };
  return row("apps/v1", kind, resource, specAndStatus({ counted: true, freshStatus: () => freshStatus, strategy }), {
    shortNames: [short],
    categories: ["all"],
    table,
    subresources: isScaled ? [SCALE, statusOf(status)] : [statusOf(status)],
  });
}

function templateOf({ spec }: Wire<V1Deployment>): Wire<V1PodTemplateSpec> | undefined {
  return spec?.template;
}

function sameSelector(object: KubeObject, old: KubeObject): FieldError[] {
  const selectorOf = ({ spec }: KubeObject) => (spec as { readonly selector?: Wire<V1LabelSelector> }).selector;
  return immutableSelector(selectorOf(object), selectorOf(old));
}

const CONTROLLER_REVISION: Strategy = {
  ...PLAIN,
  validate: (revision) => validateControllerRevision(revision as Wire<V1ControllerRevision>),
  validateUpdate: (revision, old) =>
    validateControllerRevisionUpdate(revision as Wire<V1ControllerRevision>, old as Wire<V1ControllerRevision>),
};

const DEPLOYMENT = workload(
  "Deployment",
  "deployments",
  {
    short: "deploy",
    isNameInPods: true,
    freshStatus: {},
    table: DEPLOYMENT_TABLE,
    isScaled: true,
    validate: (object) => validateDeployment(object as Wire<V1Deployment>),
  },
  statusStrategy(DEPLOYMENT_STATUS),
);

/** A change of the annotations counts as well: the controller copies them. Mirrors deploymentStrategy.PrepareForUpdate. */
const DEPLOYMENT_STRATEGY: Strategy = {
  ...DEPLOYMENT.strategy,
  prepareForUpdate(object, old, context) {
    const prepared = DEPLOYMENT.strategy.prepareForUpdate?.(object, old, context) ?? object;
    const before = old.metadata.generation ?? 1;
    const { generation, annotations } = prepared.metadata;
    if (generation !== before || semanticallyEqual(annotations, old.metadata.annotations)) return prepared;
    return { ...prepared, metadata: { ...prepared.metadata, generation: before + 1 } };
  },
};

const REPLICA_SET = workload(
  "ReplicaSet",
  "replicasets",
  {
    short: "rs",
    isNameInPods: true,
    freshStatus: { replicas: 0 },
    table: REPLICAS_TABLE,
    isScaled: true,
    validate: (object) => validateReplicaSet(object as Wire<V1ReplicaSet>),
  },
  statusStrategy(REPLICA_SET_STATUS),
);

const DAEMON_SET = workload(
  "DaemonSet",
  "daemonsets",
  {
    short: "ds",
    isNameInPods: false,
    freshStatus: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
    table: DAEMON_SET_TABLE,
    isScaled: false,
    validate: (object) => validateDaemonSet(object as Wire<V1DaemonSet>),
  },
  statusStrategy(DAEMON_SET_STATUS),
);

const TEMPLATE_GENERATION = "deprecated.daemonset.template.generation";

/** Counts the changes of the template, which apps/v1 shows as an annotation. Mirrors daemonSetStrategy (TemplateGeneration). */
const DAEMON_SET_STRATEGY: Strategy = {
  ...DAEMON_SET.strategy,
  prepareForCreate(object, context) {
    const prepared = DAEMON_SET.strategy.prepareForCreate?.(object, context) ?? object;
    return withTemplateGeneration(prepared, Math.max(1, templateGenerationOf(object)));
  },
  prepareForUpdate(object, old, context) {
    const prepared = DAEMON_SET.strategy.prepareForUpdate?.(object, old, context) ?? object;
    const templateOf = ({ spec }: Wire<V1DaemonSet>) => spec?.template;
    const isSame = semanticallyEqual(templateOf(prepared as Wire<V1DaemonSet>), templateOf(old as Wire<V1DaemonSet>));
    return withTemplateGeneration(prepared, templateGenerationOf(old) + (isSame ? 0 : 1));
  },
};

function templateGenerationOf({ metadata }: KubeObject): number {
  const generation = Number(metadata.annotations?.[TEMPLATE_GENERATION]);
  return Number.isInteger(generation) ? generation : 0;
}

function withTemplateGeneration(object: KubeObject, generation: number): KubeObject {
  const annotations = { ...object.metadata.annotations, [TEMPLATE_GENERATION]: String(generation) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

const STATEFUL_SET = workload(
  "StatefulSet",
  "statefulsets",
  {
    short: "sts",
    isNameInPods: false,
    freshStatus: { replicas: 0, availableReplicas: 0 },
    table: STATEFUL_SET_TABLE,
    isScaled: true,
    validate: (object) => validateStatefulSet(object as Wire<V1StatefulSet>),
    validateUpdate: (object, old, { kubeVersion }) =>
      validateStatefulSetUpdate(object as Wire<V1StatefulSet>, old as Wire<V1StatefulSet>, kubeVersion),
    prepareForCreate: (object, { kubeVersion }) => withKnownFields(object as Wire<V1StatefulSet>, kubeVersion),
    prepareForUpdate: (object, _old, { kubeVersion }) => withKnownFields(object as Wire<V1StatefulSet>, kubeVersion),
  },
  statusStrategy(STATEFUL_SET_STATUS),
);

export const WORKLOADS: readonly ResourceDefinition[] = [
  row("apps/v1", "ControllerRevision", "controllerrevisions", CONTROLLER_REVISION, { table: REVISION_TABLE }),
  { ...DAEMON_SET, strategy: DAEMON_SET_STRATEGY },
  { ...DEPLOYMENT, strategy: DEPLOYMENT_STRATEGY },
  { ...REPLICA_SET, selectableFields: replicasField },
  STATEFUL_SET,
];

/** Mirrors ValidatePodTemplate in pkg/apis/core/validation/validation.go. */
const validatePodTemplate = ({ template }: Wire<V1PodTemplate>) => validatePodTemplateSpec(template, "template");

const POD_TEMPLATE: Strategy = {
  ...PLAIN,
  validate: validatePodTemplate,
  validateUpdate: validatePodTemplate,
  ...templateWarnings("template", ({ template }: Wire<V1PodTemplate>) => template, { isNameInPods: false }),
};

export const POD_TEMPLATES = row("v1", "PodTemplate", "podtemplates", POD_TEMPLATE, {
  deleteReturnsObject: true,
  table: TEMPLATE_TABLE,
});

const validateRc = (object: KubeObject) => validateReplicationController(object as Wire<V1ReplicationController>);

export const REPLICATION_CONTROLLERS = row(
  "v1",
  "ReplicationController",
  "replicationcontrollers",
  specAndStatus({
    counted: true,
    freshStatus: () => ({ replicas: 0 }),
    strategy: {
      validate: validateRc,
      validateUpdate: validateRc,
      ...templateWarnings("spec.template", templateOf, { isNameInPods: true }),
    },
  }),
  {
    shortNames: ["rc"],
    categories: ["all"],
    table: REPLICAS_TABLE,
    selectableFields: replicasField,
    subresources: [SCALE, statusOf(statusStrategy(REPLICA_SET_STATUS))],
  },
);

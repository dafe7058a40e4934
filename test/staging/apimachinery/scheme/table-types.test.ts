import type * as api from "@kubernetes/client-node";
import { test } from "vitest";
import type apiextensions from "../../../../fixtures/scheme/apiextensions.json";
import type apps from "../../../../fixtures/scheme/apps.json";
import type authentication from "../../../../fixtures/scheme/authentication.json";
import type authorization from "../../../../fixtures/scheme/authorization.json";
import type autoscaling from "../../../../fixtures/scheme/autoscaling.json";
import type autoscalingV2 from "../../../../fixtures/scheme/autoscaling-v2.json";
import type batch from "../../../../fixtures/scheme/batch.json";
import type certificates from "../../../../fixtures/scheme/certificates.json";
import type coordination from "../../../../fixtures/scheme/coordination.json";
import type core from "../../../../fixtures/scheme/core.json";
import type discovery from "../../../../fixtures/scheme/discovery.json";
import type events from "../../../../fixtures/scheme/events.json";
import type meta from "../../../../fixtures/scheme/meta.json";
import type networking from "../../../../fixtures/scheme/networking.json";
import type node from "../../../../fixtures/scheme/node.json";
import type policy from "../../../../fixtures/scheme/policy.json";
import type rbac from "../../../../fixtures/scheme/rbac.json";
import type scheduling from "../../../../fixtures/scheme/scheduling.json";
import type storage from "../../../../fixtures/scheme/storage.json";
import type { Wire } from "../../../../src/staging/apimachinery/wire.js";

/**
 * The compiler checks the tables of `fixtures/scheme` against client-node's types: fields that only one of the two has
 * must be listed here. Nothing runs.
 */

type Models = typeof api;
type Bare<Name> = Name extends `${string}.${infer Last}` ? Last : Name;

/** `V1Pod`; `CoreV1Event` for a name that two groups share. */
type ClassName<Group extends string, Name extends string> = Group extends "v2"
  ? `V2${Name}`
  : `V1${Name}` extends keyof Models
    ? `V1${Name}`
    : `${Capitalize<Group>}V1${Name}`;

/** Fields of one of client-node's classes; never for embedded structs, which have no class. */
type ModelFields<Name> = Name extends keyof Models
  ? Models[Name] extends new () => infer Model
    ? keyof Wire<Model> & string
    : never
  : never;

/** Embedded structs: their fields are siblings of the other fields. */
interface Embedded {
  readonly ingressRuleValue: "IngressRuleValue";
  readonly ephemeralContainerCommon: "EphemeralContainerCommon";
  readonly localObjectReference: "LocalObjectReference";
  readonly persistentVolumeSource: "PersistentVolumeSource";
  readonly probeHandler: "ProbeHandler";
  readonly volumeSource: "VolumeSource";
}

type TableFields<Rows> = { [Field in keyof Rows]: FieldsOfRow<Field> }[keyof Rows];
type FieldsOfRow<Field> = Field extends "--"
  ? never
  : Field extends "TypeMeta"
    ? "apiVersion" | "kind"
    : Field extends keyof Embedded
      ? Exclude<keyof ((typeof core)["types"] & (typeof networking)["types"])[Embedded[Field]], "--">
      : Field;

/** `Type.field` for each field that only the table or only the class has. */
type DifferencesOf<Group extends string, Types> = {
  [Name in Exclude<keyof Types & string, Embedded[keyof Embedded]>]: `${Name}.${SymmetricDifference<
    ModelFields<ClassName<Group, Bare<Name>>>,
    TableFields<Types[Name]> & string
  >}`;
}[Exclude<keyof Types & string, Embedded[keyof Embedded]>];

type SymmetricDifference<A, B> = Exclude<A, B> | Exclude<B, A>;

type Differences =
  // The class has other names for the fields of a schema: x_kubernetes_list_type.
  | DifferencesOf<"apiextensions", Omit<(typeof apiextensions)["types"], "JSONSchemaProps">>
  | DifferencesOf<"apps", (typeof apps)["types"]>
  | DifferencesOf<"authentication", (typeof authentication)["types"]>
  | DifferencesOf<"authorization", (typeof authorization)["types"]>
  | DifferencesOf<"autoscaling", (typeof autoscaling)["types"]>
  | DifferencesOf<"v2", (typeof autoscalingV2)["types"]>
  | DifferencesOf<"batch", (typeof batch)["types"]>
  | DifferencesOf<"certificates", (typeof certificates)["types"]>
  | DifferencesOf<"coordination", (typeof coordination)["types"]>
  | DifferencesOf<"core", (typeof core)["types"]>
  | DifferencesOf<"discovery", (typeof discovery)["types"]>
  | DifferencesOf<"events", (typeof events)["types"]>
  | DifferencesOf<"meta", (typeof meta)["types"]>
  | DifferencesOf<"networking", (typeof networking)["types"]>
  | DifferencesOf<"node", (typeof node)["types"]>
  | DifferencesOf<"policy", (typeof policy)["types"]>
  | DifferencesOf<"rbac", (typeof rbac)["types"]>
  | DifferencesOf<"scheduling", (typeof scheduling)["types"]>
  | DifferencesOf<"storage", (typeof storage)["types"]>;

/** Fields newer than the releases that the tables describe. */
type NewerFields =
  | "DeploymentStatus.terminatingReplicas"
  | "ReplicaSetStatus.terminatingReplicas"
  | "ResourceAttributes.fieldSelector"
  | "ResourceAttributes.labelSelector"
  | "LeaseSpec.preferredHolder"
  | "LeaseSpec.strategy"
  | "Container.resizePolicy"
  | "Container.restartPolicyRules"
  | "EphemeralContainer.resizePolicy"
  | "EphemeralContainer.restartPolicy"
  | "EphemeralContainer.restartPolicyRules"
  | "EnvVarSource.fileKeyRef"
  | "ResourceRequirements.claims"
  | "VolumeMount.recursiveReadOnly"
  | "LifecycleHandler.sleep"
  | "Lifecycle.stopSignal"
  | "SecurityContext.appArmorProfile"
  | "ContainerStatus.allocatedResources"
  | "ContainerStatus.allocatedResourcesStatus"
  | "ContainerStatus.resources"
  | "ContainerStatus.stopSignal"
  | "ContainerStatus.user"
  | "ContainerStatus.volumeMounts"
  | "PodSpec.hostnameOverride"
  | "PodSpec.resourceClaims"
  | "PodSpec.resources"
  | "PodStatus.extendedResourceClaimStatus"
  | "PodStatus.hostIPs"
  | "PodStatus.observedGeneration"
  | "PodStatus.resize"
  | "PodStatus.resourceClaimStatuses"
  | "PodCondition.observedGeneration"
  | "PodSecurityContext.appArmorProfile"
  | "PodSecurityContext.seLinuxChangePolicy"
  | "PodSecurityContext.supplementalGroupsPolicy"
  | "PodAffinityTerm.matchLabelKeys"
  | "PodAffinityTerm.mismatchLabelKeys"
  | "Volume.image"
  | "VolumeProjection.clusterTrustBundle"
  | "VolumeProjection.podCertificate"
  | "NodeStatus.features"
  | "NodeStatus.runtimeHandlers"
  | "NodeSystemInfo.swap"
  | "ServiceSpec.trafficDistribution"
  | "LoadBalancerIngress.ipMode"
  | "PersistentVolumeClaimSpec.volumeAttributesClassName"
  | "PersistentVolumeClaimStatus.allocatedResourceStatuses"
  | "PersistentVolumeClaimStatus.currentVolumeAttributesClassName"
  | "PersistentVolumeClaimStatus.modifyVolumeStatus"
  | "PersistentVolumeSpec.volumeAttributesClassName"
  | "PersistentVolumeStatus.lastPhaseTransitionTime"
  | "EndpointHints.forNodes"
  | "DeleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential"
  | "CSIDriverSpec.nodeAllocatableUpdatePeriodSeconds"
  | "VolumeError.errorCode"
  | "JobSpec.backoffLimitPerIndex"
  | "JobSpec.managedBy"
  | "JobSpec.maxFailedIndexes"
  | "JobSpec.podReplacementPolicy"
  | "JobSpec.successPolicy"
  | "JobStatus.failedIndexes"
  | "JobStatus.terminating"
  | "HPAScalingRules.tolerance";

/** Fields that newer releases have renamed. */
type OlderFields =
  | "PersistentVolumeClaimStatus.resizeStatus"
  | "NetworkPolicy.status"
  | "NetworkPolicyStatus.conditions";

/** Compiles only if the field does not exist. */
function none<_Fields extends never>(): void {}

test("tables and client-node's types have the same fields, but for the listed ones", () => {
  none<Exclude<Differences, NewerFields | OlderFields>>();
  none<Exclude<NewerFields | OlderFields, Differences>>();
});

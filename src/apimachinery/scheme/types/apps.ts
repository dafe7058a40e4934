import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/apps/v1/types.go. */
export const apps: TypeTable = {
  package: "io.k8s.api.apps.v1",
  types: {
    ControllerRevision: `
      TypeMeta
      1 metadata ObjectMeta
      2 data any
      3 revision int64!`,
    Deployment: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec DeploymentSpec
      3 status DeploymentStatus`,
    DeploymentSpec: `
      1 replicas *int32 default=1
      2 selector *LabelSelector!
      3 template PodTemplateSpec!
      4 strategy DeploymentStrategy retainKeys
      5 minReadySeconds int32
      6 revisionHistoryLimit *int32 default=10
      7 paused bool
      9 progressDeadlineSeconds *int32 default=600`,
    DeploymentStrategy: `
      1 type string:DeploymentStrategyType default=RollingUpdate
      2 rollingUpdate *RollingUpdateDeployment`,
    RollingUpdateDeployment: `
      1 maxUnavailable *IntOrString default=25%
      2 maxSurge *IntOrString default=25%`,
    DeploymentStatus: `
      1 observedGeneration int64
      2 replicas int32
      3 updatedReplicas int32
      7 readyReplicas int32
      4 availableReplicas int32
      5 unavailableReplicas int32
      6 conditions []DeploymentCondition merge=type
      8 collisionCount *int32`,
    DeploymentCondition: `
      1 type string!
      2 status string!
      6 lastUpdateTime time
      7 lastTransitionTime time
      4 reason string
      5 message string`,
    ReplicaSet: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec ReplicaSetSpec
      3 status ReplicaSetStatus`,
    ReplicaSetSpec: `
      1 replicas *int32 default=1
      4 minReadySeconds int32
      2 selector *LabelSelector!
      3 template PodTemplateSpec`,
    ReplicaSetStatus: `
      1 replicas int32!
      2 fullyLabeledReplicas int32
      4 readyReplicas int32
      5 availableReplicas int32
      3 observedGeneration int64
      6 conditions []ReplicaSetCondition merge=type`,
    ReplicaSetCondition: `
      1 type string!
      2 status string!
      3 lastTransitionTime time
      4 reason string
      5 message string`,
    DaemonSet: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec DaemonSetSpec
      3 status DaemonSetStatus`,
    DaemonSetSpec: `
      1 selector *LabelSelector!
      2 template PodTemplateSpec!
      3 updateStrategy DaemonSetUpdateStrategy
      4 minReadySeconds int32
      6 revisionHistoryLimit *int32 default=10`,
    DaemonSetUpdateStrategy: `
      1 type string:DaemonSetUpdateStrategyType default=RollingUpdate
      2 rollingUpdate *RollingUpdateDaemonSet`,
    RollingUpdateDaemonSet: `
      1 maxUnavailable *IntOrString default=1
      2 maxSurge *IntOrString default=0`,
    DaemonSetStatus: `
      1  currentNumberScheduled int32!
      2  numberMisscheduled int32!
      3  desiredNumberScheduled int32!
      4  numberReady int32!
      5  observedGeneration int64
      6  updatedNumberScheduled int32
      7  numberAvailable int32
      8  numberUnavailable int32
      9  collisionCount *int32
      10 conditions []DaemonSetCondition merge=type`,
    DaemonSetCondition: `
      1 type string!
      2 status string!
      3 lastTransitionTime time
      4 reason string
      5 message string`,
    StatefulSet: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec StatefulSetSpec
      3 status StatefulSetStatus`,
    StatefulSetSpec: `
      1  replicas *int32 default=1
      2  selector *LabelSelector!
      3  template PodTemplateSpec!
      4  volumeClaimTemplates []PersistentVolumeClaim
      5  serviceName string!
      6  podManagementPolicy string:PodManagementPolicyType default=OrderedReady
      7  updateStrategy StatefulSetUpdateStrategy
      8  revisionHistoryLimit *int32 default=10
      9  minReadySeconds int32
      10 persistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy`,
    StatefulSetUpdateStrategy: `
      1 type string:StatefulSetUpdateStrategyType default=RollingUpdate
      2 rollingUpdate *RollingUpdateStatefulSetStrategy`,
    RollingUpdateStatefulSetStrategy: `
      1 partition *int32 default=0
      2 maxUnavailable *IntOrString`,
    StatefulSetPersistentVolumeClaimRetentionPolicy: `
      1 whenDeleted string
      2 whenScaled string`,
    StatefulSetStatus: `
      1  observedGeneration int64
      2  replicas int32!
      3  readyReplicas int32
      4  currentReplicas int32
      5  updatedReplicas int32
      6  currentRevision string
      7  updateRevision string
      9  collisionCount *int32
      10 conditions []StatefulSetCondition merge=type
      11 availableReplicas int32!`,
    StatefulSetCondition: `
      1 type string!
      2 status string!
      3 lastTransitionTime time
      4 reason string
      5 message string`,
  },
};

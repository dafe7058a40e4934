import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/api/coordination/v1/types.go. */
export const coordination: TypeTable = {
  package: "io.k8s.api.coordination.v1",
  types: {
    Lease: `
      -- Says who holds something and until when, as long as it is renewed. A node's Lease is its sign of life.
      TypeMeta
      1 metadata ObjectMeta
      2 spec LeaseSpec -- Who holds it, since when and for how long.`,
    LeaseSpec: `
      -- Holder and times.
      1 holderIdentity *string -- Who holds the lease: for a node, its name.
      2 leaseDurationSeconds *int32 -- How long it holds after renewTime, in seconds. A node's lease: 40.
      3 acquireTime *microtime -- When this holder took it.
      4 renewTime *microtime -- When the holder last renewed it; exactly six decimals.
      5 leaseTransitions *int32 -- How often it changed hands.`,
  },
};

/** Mirrors k8s.io/api/events/v1/types.go. */
export const events: TypeTable = {
  package: "io.k8s.api.events.v1",
  types: {
    "events.Event": `
      TypeMeta
      1  metadata ObjectMeta
      2  eventTime microtime!
      3  series *events.EventSeries
      4  reportingController string
      5  reportingInstance string
      6  action string
      7  reason string
      8  regarding ObjectReference
      9  related *ObjectReference
      10 note string
      11 type string
      12 deprecatedSource EventSource
      13 deprecatedFirstTimestamp time
      14 deprecatedLastTimestamp time
      15 deprecatedCount int32`,
    "events.EventSeries": `
      1 count int32!
      2 lastObservedTime microtime!`,
  },
};

/** Mirrors k8s.io/api/policy/v1/types.go. */
export const policy: TypeTable = {
  package: "io.k8s.api.policy.v1",
  types: {
    Eviction: `
      -- Asks a pod to leave, if its disruption budgets allow that.
      TypeMeta
      1 metadata ObjectMeta
      2 deleteOptions *DeleteOptions`,
    PodDisruptionBudget: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec PodDisruptionBudgetSpec
      3 status PodDisruptionBudgetStatus`,
    PodDisruptionBudgetSpec: `
      1 minAvailable *IntOrString
      2 selector *LabelSelector replace
      3 maxUnavailable *IntOrString`,
    PodDisruptionBudgetStatus: `
      1 observedGeneration int64
      2 disruptedPods map:time
      3 disruptionsAllowed int32!
      4 currentHealthy int32!
      5 desiredHealthy int32!
      6 expectedPods int32!
      7 conditions []Condition merge=type`,
  },
};

/** Mirrors k8s.io/api/scheduling/v1/types.go. */
export const scheduling: TypeTable = {
  package: "io.k8s.api.scheduling.v1",
  types: {
    PriorityClass: `
      TypeMeta
      1 metadata ObjectMeta
      2 value int32!
      3 globalDefault bool
      4 description string
      5 preemptionPolicy *string:PreemptionPolicy default=PreemptLowerPriority`,
  },
};

/** Mirrors k8s.io/api/node/v1/types.go. */
export const nodeGroup: TypeTable = {
  package: "io.k8s.api.node.v1",
  types: {
    RuntimeClass: `
      TypeMeta
      1 metadata ObjectMeta
      2 handler string!
      3 overhead *Overhead
      4 scheduling *Scheduling`,
    Overhead: `
      1 podFixed ResourceList`,
    Scheduling: `
      1 nodeSelector map:string
      2 tolerations []Toleration`,
  },
};

/** Mirrors k8s.io/api/discovery/v1/types.go. */
export const discovery: TypeTable = {
  package: "io.k8s.api.discovery.v1",
  types: {
    EndpointSlice: `
      TypeMeta
      1 metadata ObjectMeta
      4 addressType string:AddressType!
      2 endpoints []Endpoint!
      3 ports []discovery.EndpointPort! optional`,
    Endpoint: `
      1 addresses []string!
      2 conditions EndpointConditions
      3 hostname *string
      4 targetRef *ObjectReference
      5 deprecatedTopology map:string
      6 nodeName *string
      7 zone *string
      8 hints *EndpointHints`,
    EndpointConditions: `
      1 ready *bool
      2 serving *bool
      3 terminating *bool`,
    EndpointHints: `
      1 forZones []ForZone`,
    ForZone: `
      1 name string!`,
    "discovery.EndpointPort": `
      1 name *string default=
      2 protocol *string default=TCP
      3 port *int32
      4 appProtocol *string`,
  },
};

/** Mirrors k8s.io/api/storage/v1/types.go. */
export const storage: TypeTable = {
  package: "io.k8s.api.storage.v1",
  types: {
    CSINode: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec CSINodeSpec!`,
    CSINodeSpec: `
      1 drivers []CSINodeDriver! merge=name`,
    CSINodeDriver: `
      1 name string!
      2 nodeID string!
      3 topologyKeys []string! optional
      4 allocatable *VolumeNodeResources`,
    VolumeNodeResources: `
      1 count *int32`,
    CSIDriver: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec CSIDriverSpec!`,
    CSIDriverSpec: `
      1 attachRequired *bool default=true
      2 podInfoOnMount *bool default=false
      3 volumeLifecycleModes []string
      4 storageCapacity *bool default=false
      5 fsGroupPolicy *string default=ReadWriteOnceWithFSType
      6 tokenRequests []storage.TokenRequest
      7 requiresRepublish *bool default=false
      8 seLinuxMount *bool`,
    "storage.TokenRequest": `
      1 audience string!
      2 expirationSeconds *int64`,
    StorageClass: `
      TypeMeta
      1 metadata ObjectMeta
      2 provisioner string!
      3 parameters map:string
      4 reclaimPolicy *string default=Delete
      5 mountOptions []string
      6 allowVolumeExpansion *bool
      7 volumeBindingMode *string default=Immediate
      8 allowedTopologies []TopologySelectorTerm`,
    CSIStorageCapacity: `
      TypeMeta
      1 metadata ObjectMeta
      2 nodeTopology *LabelSelector
      3 storageClassName string!
      4 capacity *quantity
      5 maximumVolumeSize *quantity`,
    VolumeAttachment: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec VolumeAttachmentSpec!
      3 status VolumeAttachmentStatus`,
    VolumeAttachmentSpec: `
      1 attacher string!
      2 source VolumeAttachmentSource!
      3 nodeName string!`,
    VolumeAttachmentSource: `
      1 persistentVolumeName *string
      2 inlineVolumeSpec *PersistentVolumeSpec`,
    VolumeAttachmentStatus: `
      1 attached bool!
      2 attachmentMetadata map:string
      3 attachError *VolumeError
      4 detachError *VolumeError`,
    VolumeError: `
      1 time time
      2 message string`,
  },
};

/** Mirrors k8s.io/api/autoscaling/v1/types.go: the scale subresource. */
export const autoscaling: TypeTable = {
  package: "io.k8s.api.autoscaling.v1",
  types: {
    Scale: `
      TypeMeta
      1 metadata ObjectMeta
      2 spec ScaleSpec
      3 status ScaleStatus`,
    ScaleSpec: `
      1 replicas int32`,
    ScaleStatus: `
      1 replicas int32!
      2 selector string`,
  },
};

/** Mirrors k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go, as far as it is needed to say that there are none. */
export const apiextensions: TypeTable = {
  package: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
  types: {
    CustomResourceDefinition: `
      -- A kind that is defined in the cluster itself. This API server has none, and takes none.
      TypeMeta
      1 metadata ObjectMeta
      2 spec CustomResourceDefinitionSpec!
      3 status any`,
    CustomResourceDefinitionSpec: `
      1 group string! -- The API group of the kind.
      3 names CustomResourceDefinitionNames! -- What the kind is called.
      4 scope string! -- Namespaced or Cluster.
      7 versions []any!
      9 conversion any
      10 preserveUnknownFields bool`,
    CustomResourceDefinitionNames: `
      1 plural string! -- As it stands in paths.
      2 singular string
      3 shortNames []string
      4 kind string!
      5 listKind string
      6 categories []string`,
  },
};

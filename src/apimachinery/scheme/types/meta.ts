import type { TypeTable } from "../schema.js";

/** Mirrors k8s.io/apimachinery/pkg/apis/meta/v1/types.go: what every kind is made of. */
export const meta: TypeTable = {
  package: "io.k8s.apimachinery.pkg.apis.meta.v1",
  types: {
    ObjectMeta: `
      -- What every stored object carries: its name, its labels, and what the server notes about it.
      1  name string -- Unique within the namespace (or the cluster) for this kind. Cannot be changed.
      2  generateName string -- A beginning of a name: the server appends five random characters. Used only when name is empty.
      3  namespace string -- The namespace the object lives in. Empty for cluster-scoped kinds. Cannot be changed.
      4  selfLink string -- Deprecated: no longer filled in.
      5  uid string:types.UID -- Given by the server: tells this object from an earlier or later one of the same name.
      6  resourceVersion string -- The revision of the last change, opaque to clients. Sent back with a PUT, it makes the write fail when somebody else wrote in between.
      7  generation int64 -- Counts changes of the desired state, for kinds that keep it.
      8  creationTimestamp time -- When the server stored the object.
      9  deletionTimestamp *time -- When the object is to be gone: set by the server once deletion was asked for.
      10 deletionGracePeriodSeconds *int64 -- How long the object may take to end in good order.
      11 labels map:string -- Key and value pairs to select objects by.
      12 annotations map:string -- Key and value pairs for tools: not selectable, and of any size.
      13 ownerReferences []OwnerReference merge=uid -- The objects this one belongs to. When all are gone, the garbage collector removes it.
      14 finalizers []string merge -- Who must do something before the object may go. Each removes its own entry.
      17 managedFields []ManagedFieldsEntry -- Which client set which field, for server-side apply.`,
    OwnerReference: `
      -- Names an object that owns this one, in the same namespace or cluster-scoped.
      5 apiVersion string! -- API group and version of the owner.
      1 kind string! -- Kind of the owner.
      3 name string! -- Name of the owner.
      4 uid string:types.UID! -- Uid of the owner: a new object of the same name does not count.
      6 controller *bool -- This owner is the controller that manages the object.
      7 blockOwnerDeletion *bool -- Foreground deletion of the owner waits for this object.`,
    ManagedFieldsEntry: `
      1 manager string
      2 operation string:ManagedFieldsOperationType
      3 apiVersion string
      4 time *time
      6 fieldsType string
      7 fieldsV1 *any
      8 subresource string`,
    ListMeta: `
      1 selfLink string
      2 resourceVersion string -- The revision that the list shows. A watch may go on from it.
      3 continue string -- A token to ask for the next page with.
      4 remainingItemCount *int64 -- How many more items follow.`,
    Status: `
      -- The answer to a request that failed, and to most deletions.
      TypeMeta
      1 metadata ListMeta
      2 status string -- Success or Failure.
      3 message string -- What happened, in words.
      4 reason string:StatusReason -- What happened, in one word for programs.
      5 details *StatusDetails -- About which object, and which fields of it.
      6 code int32 -- The HTTP status.`,
    StatusDetails: `
      1 name string
      2 group string
      3 kind string
      6 uid string:types.UID
      4 causes []StatusCause
      5 retryAfterSeconds int32`,
    StatusCause: `
      1 reason string:CauseType
      2 message string
      3 field string`,
    DeleteOptions: `
      -- How to delete.
      TypeMeta
      1 gracePeriodSeconds *int64 -- Seconds the object may take to end; 0 is at once.
      2 preconditions *Preconditions -- What must hold, or the answer is 409.
      3 orphanDependents *bool -- Deprecated: use propagationPolicy.
      4 propagationPolicy *string:DeletionPropagation -- Orphan, Background or Foreground: what happens to objects owned by this one.
      5 dryRun []string -- All: check everything, change nothing.`,
    Preconditions: `
      1 uid *string:types.UID
      2 resourceVersion *string`,
    LabelSelector: `
      -- Selects objects by their labels; all parts must match.
      1 matchLabels map:string
      2 matchExpressions []LabelSelectorRequirement`,
    LabelSelectorRequirement: `
      1 key string! merge=key
      2 operator string:LabelSelectorOperator!
      3 values []string`,
    Condition: `
      1 type string!
      2 status string:ConditionStatus!
      3 observedGeneration int64
      4 lastTransitionTime time! -- When the status last changed.
      5 reason string!
      6 message string!`,
  },
};

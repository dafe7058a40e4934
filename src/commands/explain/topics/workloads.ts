import type { Topic } from "../topic.js";

const DEPLOYMENT = "pkg/controller/deployment/util/deployment_util.go";
const REPLICA_SET = "pkg/controller/replicaset/replica_set.go";
const JOB = "pkg/controller/job/job_controller.go";
const CRON_JOB = "pkg/controller/cronjob/cronjob_controllerv2.go";
const AUTOSCALER = "pkg/controller/podautoscaler/horizontal.go";
const DISRUPTION = "pkg/controller/disruption/disruption.go";
const DEPLOY = "kubectl create deployment rolls --image=nginx:1.25 && kubectl describe deployment rolls";
const JOBS = "kubectl create job tidy --image=busybox -- true && kubectl describe job tidy";
const BUDGET =
  "kubectl create poddisruptionbudget keep --selector=app=web --min-available=1 && kubectl describe poddisruptionbudget keep";
const AUTOSCALERS = "kubectl describe horizontalpodautoscalers -A";

/** Conditions and events of controllers. */
export const WORKLOADS: readonly Topic[] = [
  {
    name: "ScalingReplicaSet",
    also: ["Scaled up replica set", "Scaled down replica set"],
    text: "The Deployment controller changed the size of one of its ReplicaSets. A rollout is a chain of such steps: maxSurge pods more of the new one, then as many fewer of the old one as maxUnavailable allows, then again.",
    see: DEPLOY,
    file: "pkg/controller/deployment/sync.go",
    labs: ["deployment", "rollout-stuck"],
  },
  {
    name: "Progressing",
    also: [
      "NewReplicaSetCreated",
      "FoundNewReplicaSet",
      "ReplicaSetUpdated",
      "NewReplicaSetAvailable",
      "DeploymentPaused",
      "DeploymentResumed",
    ],
    text: "A condition of a Deployment: whether its rollout goes on. The reason names the last step: a new ReplicaSet was created or found, its pods came or became ready (ReplicaSetUpdated), all are available (NewReplicaSetAvailable), or the rollout was paused or resumed.",
    see: DEPLOY,
    file: DEPLOYMENT,
    labs: ["deployment", "rollout-stuck"],
  },
  {
    name: "ProgressDeadlineExceeded",
    also: ["has timed out progressing"],
    text: "The rollout has made no progress for progressDeadlineSeconds (600 by default): Progressing is False. The controller does nothing about it; look at the newest ReplicaSet's pods, then correct the Deployment or go back with `kubectl rollout undo`.",
    see: "kubectl create deployment stuck --image=nginx:1.161 && kubectl describe deployment stuck",
    file: DEPLOYMENT,
    labs: ["rollout-stuck", "deployment"],
  },
  {
    name: "Available",
    also: ["MinimumReplicasAvailable", "MinimumReplicasUnavailable", "Deployment does not have minimum availability"],
    text: "A condition of a Deployment: at least as many pods as it wants, less maxUnavailable, have been ready for minReadySeconds. The reasons are MinimumReplicasAvailable and MinimumReplicasUnavailable.",
    see: DEPLOY,
    file: DEPLOYMENT,
    labs: ["deployment"],
  },
  {
    name: "ReplicaFailure",
    also: ["FailedCreate", "ReplicaSetCreateError", "Error creating"],
    text: "Pods could not be created: a quota is used up, admission refused them, or the service account is missing. FailedCreate is the event and the reason; ReplicaSetCreateError means that already the ReplicaSet was refused.",
    see: "kubectl get events -A --field-selector reason=FailedCreate",
    file: REPLICA_SET,
    labs: ["deployment"],
  },
  {
    name: "SuccessfulCreate",
    also: ["Created pod"],
    text: "A controller (ReplicaSet, Job, DaemonSet, StatefulSet, CronJob) has created a pod, a job or a claim. The event is about the owner, the message names what was created.",
    see: DEPLOY,
    file: "pkg/controller/controller_utils.go",
    labs: ["deployment"],
  },
  {
    name: "SuccessfulDelete",
    also: ["FailedDelete", "Deleted pod"],
    text: "A controller has deleted one of its pods (or jobs) because it has too many, or an outdated one. With FailedDelete the API server refused; the controller tries again.",
    see: "kubectl get events -A --field-selector reason=SuccessfulDelete",
    file: "pkg/controller/controller_utils.go",
  },
  {
    name: "SuccessfulUpdate",
    also: ["FailedUpdate"],
    text: "The StatefulSet controller has written one of its pods or claims, for example to set who owns it; with FailedUpdate that was refused.",
    see: "kubectl get events -A --field-selector reason=FailedUpdate",
    file: "pkg/controller/statefulset/stateful_pod_control.go",
  },
  {
    name: "SelectingAll",
    text: "The selector of a Deployment or DaemonSet is empty and would take every pod of the namespace, so the controller does nothing.",
    file: "pkg/controller/deployment/deployment_controller.go",
  },
  {
    name: "RecreatingFailedPod",
    text: "A pod of a StatefulSet has failed. The controller deletes it, and creates one of the same name; the order of the others waits for it.",
    file: "pkg/controller/statefulset/stateful_set_control.go",
  },
  {
    name: "FailedDaemonPod",
    also: ["SucceededDaemonPod"],
    text: "A pod of a DaemonSet is over although it should run for ever. The controller deletes it and creates another one, with a growing pause if pods keep failing.",
    file: "pkg/controller/daemon/daemon_controller.go",
  },
  {
    name: "Complete",
    text: "A condition of a Job: as many pods as it wants have succeeded. With Failed instead, the reason says why: BackoffLimitExceeded, DeadlineExceeded or PodFailurePolicy.",
    see: JOBS,
    file: JOB,
  },
  {
    name: "BackoffLimitExceeded",
    also: ["Job has reached the specified backoff limit"],
    text: "More pods of the Job failed than backoffLimit (6 by default), so the Job is Failed and its running pods are deleted. Between two failures it waits longer and longer.",
    facts: ["jobBackoffByFailures"],
    see: "kubectl create job fails-often --image=busybox -- false && kubectl describe job fails-often",
    file: JOB,
  },
  {
    name: "PodFailurePolicy",
    also: ["FailureTarget"],
    text: "A rule of the Job's podFailurePolicy matched a pod's exit code or condition, and ends the Job. The condition FailureTarget comes first, then the pods are deleted, then the Job is Failed.",
    facts: ["jobPodFailurePolicy", "podDisruptionConditions"],
    see: "kubectl describe jobs -A",
    file: "pkg/controller/job/pod_failure_policy.go",
  },
  {
    name: "Suspended",
    also: ["Resumed", "JobSuspended", "JobResumed"],
    text: "spec.suspend of a Job was set or cleared. A suspended Job has no running pods; resuming starts its deadline anew. The events are Suspended and Resumed, the condition's reasons JobSuspended and JobResumed.",
    see: "kubectl describe jobs -A",
    file: JOB,
  },
  {
    name: "TooManySucceededPods",
    text: "More pods of a Job succeeded than it wants: pods of an earlier size count as well. The Job is complete.",
    file: JOB,
  },
  {
    name: "SawCompletedJob",
    also: ["MissingJob", "UnexpectedJob", "FailedGet"],
    text: "The CronJob controller looks at the jobs in its list of active ones: one has ended (SawCompletedJob), is gone (MissingJob), runs without being in the list (UnexpectedJob), or could not be read (FailedGet).",
    see: "kubectl create cronjob often --image=busybox --schedule='* * * * *' -- true && kubectl describe cronjob often",
    file: CRON_JOB,
  },
  {
    name: "MissSchedule",
    also: ["TooManyMissedTimes", "JobAlreadyActive", "Missed scheduled time to start a job"],
    text: "A run of a CronJob was left out: it would start later than startingDeadlineSeconds (MissSchedule), the last job still runs and concurrencyPolicy is Forbid (JobAlreadyActive), or more than 100 times have passed unnoticed (TooManyMissedTimes).",
    see: "kubectl describe cronjobs -A",
    file: CRON_JOB,
  },
  {
    name: "InvalidSchedule",
    also: ["UnparseableSchedule", "UnParseableCronJobSchedule", "UnsupportedSchedule", "UnknownTimeZone"],
    text: "The schedule or the time zone of a CronJob cannot be read, so it never runs. UnsupportedSchedule: TZ or CRON_TZ in the schedule, which timeZone has replaced.",
    see: "kubectl describe cronjobs -A",
    file: CRON_JOB,
  },
  {
    name: "AbleToScale",
    also: [
      "ReadyForNewScale",
      "SucceededGetScale",
      "SucceededRescale",
      "ScaleDownStabilized",
      "ScaleUpStabilized",
      "FailedGetScale",
      "FailedUpdateScale",
    ],
    text: "A condition of a HorizontalPodAutoscaler: whether it can read and write its target's size. The stabilized reasons mean that an older recommendation within the window still holds, so that the size does not go up and down.",
    see: AUTOSCALERS,
    file: AUTOSCALER,
  },
  {
    name: "ScalingActive",
    also: [
      ...["ValidMetricFound", "ScalingDisabled", "InvalidSelector", "SelectorRequired", "FailedComputeMetricsReplicas"],
      ...[
        "FailedGetResourceMetric",
        "FailedGetContainerResourceMetric",
        "FailedGetPodsMetric",
        "FailedGetObjectMetric",
      ],
      ...["FailedGetExternalMetric", "InvalidMetricSourceType"],
    ],
    text: "A condition of a HorizontalPodAutoscaler: whether it can compute a size. It is False with 0 replicas (ScalingDisabled), without a usable selector, or if a metric is missing: most often the pods have no cpu request, or the metrics API does not answer.",
    see: AUTOSCALERS,
    file: AUTOSCALER,
  },
  {
    name: "ScalingLimited",
    also: ["TooFewReplicas", "TooManyReplicas", "ScaleUpLimit", "ScaleDownLimit", "DesiredWithinRange"],
    text: "A condition of a HorizontalPodAutoscaler: whether a limit changed the size that the metrics ask for: minReplicas, maxReplicas, or how fast it may grow or shrink. DesiredWithinRange: no limit did.",
    see: AUTOSCALERS,
    file: AUTOSCALER,
  },
  {
    name: "SuccessfulRescale",
    also: ["FailedRescale", "FailedUpdateStatus", "New size"],
    text: "The HorizontalPodAutoscaler has written a new size to its target; the message says which metric asked for it. FailedRescale: the write was refused. FailedUpdateStatus: its own status could not be written.",
    see: "kubectl get events -A --field-selector reason=SuccessfulRescale",
    file: AUTOSCALER,
  },
  {
    name: "DisruptionAllowed",
    also: ["SufficientPods", "InsufficientPods", "SyncFailed"],
    text: "The condition of a PodDisruptionBudget: whether one of its pods may be evicted now. InsufficientPods: as many healthy pods as are needed, or fewer. SyncFailed: the budget could not be computed, so it allows nothing.",
    facts: ["pdbUnhealthyPodEvictionPolicy"],
    see: BUDGET,
    file: "staging/src/k8s.io/component-helpers/apps/poddisruptionbudget/helpers.go",
  },
  {
    name: "NoPods",
    also: ["NotDeleted", "UnmanagedPods", "CalculateExpectedPodCountFailed", "MultiplePodDisruptionBudgets"],
    text: "Events about a PodDisruptionBudget: it matches no pod, a pod that was to be evicted is still there (NotDeleted), pods have no controller whose size could be counted, or a pod has several budgets, which makes every eviction of it fail.",
    see: BUDGET,
    file: DISRUPTION,
  },
  {
    name: "FailedToUpdateEndpoint",
    also: ["FailedToCreateEndpoint", "FailedToUpdateEndpointSlices"],
    text: "The endpoints of a Service could not be written: the API server refused, or the namespace is being deleted. Until the next attempt, connections go where they went before.",
    see: "kubectl get endpoints,endpointslices -A",
    file: "pkg/controller/endpoint/endpoints_controller.go",
    labs: ["services"],
  },
  {
    name: "InvalidIPAddress",
    also: ["TooManyAddressesToMirror"],
    text: "Someone wrote an Endpoints object by hand, and its mirror as EndpointSlices leaves addresses out: they are not valid, or more than 1,000 in a subset.",
    file: "pkg/controller/endpointslicemirroring/endpointslicemirroring_controller.go",
  },
  {
    name: "OwnerRefInvalidNamespace",
    text: "An object names an owner in another namespace. Owners are of the same namespace or of the cluster, so the garbage collector treats this owner as absent, and deletes the object.",
    file: "pkg/controller/garbagecollector/garbagecollector.go",
    labs: ["who-deletes"],
  },
];

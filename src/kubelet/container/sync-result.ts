/** What a sync did, as upstream names it. Mirrors SyncAction in pkg/kubelet/container/sync_result.go. */
export type SyncAction =
  | "StartContainer"
  | "KillContainer"
  | "InitContainer"
  | "CreatePodSandbox"
  | "ConfigPodSandbox"
  | "KillPodSandbox";

/**
 * Why an action failed: the API shows it as a container's waiting reason, and events name it.
 * Mirrors the errors of pkg/kubelet/container/sync_result.go, pkg/kubelet/images/types.go and
 * pkg/kubelet/kuberuntime/kuberuntime_container.go.
 */
export type SyncErrorReason =
  | "CrashLoopBackOff"
  | "ContainerNotFound"
  | "RunContainerError"
  | "KillContainerError"
  | "RunInitContainerError"
  | "CreatePodSandboxError"
  | "ConfigPodSandboxError"
  | "KillPodSandboxError"
  | "CreateContainerConfigError"
  | "PreCreateHookError"
  | "CreateContainerError"
  | "PreStartHookError"
  | "PostStartHookError"
  | "ImagePullBackOff"
  | "ImageInspectError"
  | "ErrImagePull"
  | "ErrImageNeverPull"
  | "RegistryUnavailable"
  | "InvalidImageName";

/** One action of a sync on one target. Mirrors SyncResult. */
export interface SyncResult {
  readonly action: SyncAction;
  /** a container's name; `name_namespace` of the pod for its sandbox */
  readonly target: string;
  /** undefined: the action succeeded */
  readonly error?: SyncErrorReason;
  /** the error's details */
  readonly message?: string;
}

/**
 * All actions of one sync of a pod.
 * Mirrors PodSyncResult in pkg/kubelet/container/sync_result.go.
 */
export class PodSyncResult {
  readonly syncResults: SyncResult[] = [];
  /** why the whole sync ended early, apart from the errors of single actions */
  syncError: string | undefined;

  addSyncResult(...results: readonly SyncResult[]): void {
    this.syncResults.push(...results);
  }

  addPodSyncResult(other: PodSyncResult): void {
    this.addSyncResult(...other.syncResults);
    this.syncError = other.syncError;
  }

  fail(message: string): void {
    this.syncError = message;
  }

  /** All failures, as Go prints the error; undefined if nothing failed. Mirrors PodSyncResult.Error. */
  get error(): string | undefined {
    const texts = [
      ...(this.syncError === undefined ? [] : [`failed to SyncPod: ${this.syncError}`]),
      ...this.syncResults.flatMap(({ action, target, error, message = "" }) =>
        error === undefined ? [] : [`failed to "${action}" for "${target}" with ${error}: ${JSON.stringify(message)}`],
      ),
    ];
    // As k8s.io/apimachinery/pkg/util/errors (NewAggregate) prints: without duplicates.
    const distinct = [...new Set(texts)];
    if (distinct.length === 0) return undefined;
    return distinct.length === 1 ? distinct[0] : `[${distinct.join(", ")}]`;
  }
}

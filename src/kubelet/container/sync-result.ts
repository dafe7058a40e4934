/** What a sync did, as upstream names it. Mirrors SyncAction in pkg/kubelet/container/sync_result.go. */
export type SyncAction =
  | "StartContainer"
  | "KillContainer"
  | "InitContainer"
  | "CreatePodSandbox"
  | "ConfigPodSandbox"
  | "KillPodSandbox";

/**
 * Why an action failed: the reason that the API shows of a waiting container, or that an operator reads in an event.
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

/** One thing that a sync did, to one target. Mirrors SyncResult. */
export interface SyncResult {
  readonly action: SyncAction;
  /** a container's name; `name_namespace` of the pod for its sandbox */
  readonly target: string;
  /** undefined: it worked */
  readonly error?: SyncErrorReason;
  /** what went wrong, in words */
  readonly message?: string;
}

/**
 * Everything that one sync of a pod did.
 * Mirrors PodSyncResult in pkg/kubelet/container/sync_result.go.
 */
export class PodSyncResult {
  readonly syncResults: SyncResult[] = [];
  /** why the sync as a whole ended early, beyond what single actions say */
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

  /** All that failed, as Go prints the error; undefined: nothing did. Mirrors PodSyncResult.Error. */
  get error(): string | undefined {
    const texts = [
      ...(this.syncError === undefined ? [] : [`failed to SyncPod: ${this.syncError}`]),
      ...this.syncResults.flatMap(({ action, target, error, message = "" }) =>
        error === undefined ? [] : [`failed to "${action}" for "${target}" with ${error}: ${JSON.stringify(message)}`],
      ),
    ];
    // As k8s.io/apimachinery/pkg/util/errors (NewAggregate) prints: each text once.
    const distinct = [...new Set(texts)];
    if (distinct.length === 0) return undefined;
    return distinct.length === 1 ? distinct[0] : `[${distinct.join(", ")}]`;
  }
}

// The types of the package. They refer to no other file of src/, so that a program's compiler reads this one alone.

/** An object of the API: `V1Pod` of @kubernetes/client-node and the like fit, too. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface ClusterOptions {
  /** `1.25` to `1.34`; default `1.25` */
  readonly kubeVersion?: string;
  /** how many times as fast the cluster's clock runs, 0.01 to 10000; default 1 */
  readonly speed?: number;
  /** how many nodes start with the cluster: `node-1`, `node-2`, ...; default 0 */
  readonly nodes?: number;
  /** nodes without containers, whose pods are Running at once: for hundreds of nodes; default false */
  readonly simulated?: boolean;
  /** keeps the cluster in this folder, and continues the one that it has; default: in memory */
  readonly dataFolder?: string;
  /** its nodes run images that kubelab does not know as placeholders, which wait for a signal; default false */
  readonly anyImage?: boolean;
  /** the API server's port on 127.0.0.1; default: a free one */
  readonly port?: number;
}

/** A control plane and its nodes, in a separate process. */
export interface Cluster extends AsyncDisposable {
  /** `https://127.0.0.1:PORT` */
  readonly url: string;
  /** `1.25` */
  readonly kubeVersion: string;
  /** the administrator's, as text */
  readonly kubeconfig: string;
  /** the same as a file, for kubectl; removed by `close` */
  readonly kubeconfigFile: string;
  /** acts as the administrator */
  readonly client: Client;
  readonly clock: ClusterClock;
  /** Ends the cluster with its nodes. Safe to call twice. */
  close(): Promise<void>;
}

/** The clock of a cluster. */
export interface ClusterClock {
  readonly speed: number;
  /** Unix ms */
  now(): number;
  /** Resolves after this many ms of the cluster's time. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs the clock at another speed. The time does not jump. */
  setSpeed(speed: number): Promise<void>;
}

export interface ClientRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `/api/v1/namespaces/default/pods` */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** sent as JSON */
  readonly body?: unknown;
  /** of `body`; default `application/json` */
  readonly contentType?:
    | "application/json"
    | "application/json-patch+json"
    | "application/merge-patch+json"
    | "application/strategic-merge-patch+json"
    | "application/apply-patch+yaml";
  /** ms; default 30 000 */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface ClientResponse<T> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** parsed JSON, or the text if it is not JSON */
  readonly body: T;
}

export interface WatchedEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** A client of the cluster's API server. */
export interface Client {
  /** Any answer of the server, also a 404: the caller decides what it means. @throws LabError without an answer */
  request<T = ApiObject>(request: ClientRequest): Promise<ClientResponse<T>>;
  /** The body of a 2xx answer. @throws LabError UNAUTHORIZED, FORBIDDEN, REFUSED for any other */
  expect<T = ApiObject>(request: ClientRequest): Promise<T>;
  /** The events of one watch, until the server or the signal ends it. @throws LabError as `expect` */
  watch<T = ApiObject>(path: string, options?: WatchOptions): AsyncIterable<WatchedEvent<T>>;
  /**
   * Reads an object until it meets the condition; waits for it to exist.
   * @throws LabError TIMED_OUT
   */
  waitFor<T = ApiObject>(path: string, isDone: (object: T) => boolean, options?: WaitOptions): Promise<T>;
}

export interface WatchOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly signal?: AbortSignal;
}

export interface WaitOptions {
  /** ms of real time; default 30 000 */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface NodeOptions {
  readonly cluster: Cluster;
  readonly name: string;
  /** labels to register with, in addition to the default ones */
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly NodeTaint[];
}

export interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
}

/** A kubelet that has joined a cluster, and its container runtime. */
export interface ClusterNode extends AsyncDisposable {
  readonly name: string;
  /** Stops it as a power cut stops a machine: its Node object stays, and becomes NotReady. Safe to call twice. */
  close(): Promise<void>;
}

export interface VirtualNodeOptions extends NodeOptions {
  /** does the work of each pod; or the path of a module that exports such a function, which gets a thread for each pod */
  readonly handler: PodFunction | string;
  /** ms that a pod's work may take; default: the pod's own limit */
  readonly timeoutMs?: number;
}

/**
 * Does the work of one pod. Its result decides the pod's phase: nothing or a text is Succeeded; `{ phase: "Failed",
 * reason, message }` or a thrown error is Failed.
 */
export type PodFunction = (task: PodTask) => unknown;

export interface PodTask {
  /** as the API server has it */
  readonly pod: ApiObject;
  readonly containers: readonly PodContainer[];
  /** aborts when the pod must end; the work is abandoned after terminationGracePeriodSeconds */
  readonly signal: AbortSignal;
  /** Writes a line of the pod's log. */
  log(...values: readonly unknown[]): void;
  /** Shows the progress in the pod's status, from 0 to 1. */
  progress(fraction: number, text?: string): void;
}

/** A container with its references resolved: `env` has the values of config maps, Secrets and fields. */
export interface PodContainer {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly { readonly containerPath: string; readonly hostPath: string; readonly readonly: boolean }[];
}

export interface RuntimeOptions {
  /** `unix:///path` or `tcp://127.0.0.1:PORT`; default: a socket in a temporary folder */
  readonly endpoint?: string;
  /** ms that the pull of an image takes; default 400 */
  readonly pullMs?: number;
  /** images that are present from the start */
  readonly images?: readonly string[];
  /** images that kubelab does not know are placeholders, which wait for a signal; default false */
  readonly anyImage?: boolean;
  /** how many times as fast its clock runs; default 1 */
  readonly speed?: number;
}

/** A container runtime that speaks the CRI, in a separate process. */
export interface ContainerRuntime extends AsyncDisposable {
  /** `unix:///tmp/.../runtime.sock`, for crictl and kubelets */
  readonly endpoint: string;
  /** Ends its containers. Safe to call twice. */
  close(): Promise<void>;
}

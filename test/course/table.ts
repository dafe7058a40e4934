/** Upstream's file and function, as the fact that shows the point names them. */
export interface Named {
  readonly upstream: string;
}

/** Why kubelab does not do what the document shows; the command then shows what it does instead. */
export interface Differs {
  readonly differs: string;
}

/** A point of a document: what it says, the command that shows it, what its output or its trace must have. */
export type Row = readonly [point: string, run: string, shows: RegExp, note?: Named | Differs];

/** The points of a document's chapter, in its order. */
export interface Chapter {
  readonly title: string;
  readonly rows: readonly Row[];
}

export const by = (file: string, func: string): Named => ({ upstream: `${file} ${func}` });
export const differs = (reason: string): Differs => ({ differs: reason });

export const BOOTSTRAP = "kubelab bootstrap";
export const BINDING = "kubelab request create pod/web/binding";
export const DEPLOYMENT = "kubelab journey deployment/nginx";
export const ETCD = "kubelab cluster up --etcd URL";
export const EXEC = "kubelab exec nettool -- ls /";
export const HELD = "kubelab pod-worker --hold-cache --http ADDRESS";
export const JOURNEY = "kubelab journey pod/web --delete";
export const KILLED = "kubelab pleg --http ADDRESS";
export const LEASE = "kubelab lease --stop-after 2 --revive";
export const NODE = "kubelab node --config kubelet.yaml --manifest-dir FOLDER";
export const PLEG = "kubelab pleg --mock";
export const REQUEST = "kubelab request create pod/web";
export const STATIC = "kubelab static-pod";

/** Files of Kubernetes v1.25. */
export const FILE = {
  kubelet: "pkg/kubelet/kubelet.go",
  nodeStatus: "pkg/kubelet/kubelet_node_status.go",
  pods: "pkg/kubelet/kubelet_pods.go",
  workers: "pkg/kubelet/pod_workers.go",
  pleg: "pkg/kubelet/pleg/generic.go",
  status: "pkg/kubelet/status/status_manager.go",
  runtime: "pkg/kubelet/kuberuntime/kuberuntime_manager.go",
  sandbox: "pkg/kubelet/kuberuntime/kuberuntime_sandbox.go",
  container: "pkg/kubelet/kuberuntime/kuberuntime_container.go",
  server: "cmd/kubelet/app/server.go",
  bootstrap: "pkg/kubelet/certificate/bootstrap/bootstrap.go",
  lifecycle: "pkg/controller/nodelifecycle/node_lifecycle_controller.go",
  undelta: "staging/src/k8s.io/client-go/tools/cache/undelta_store.go",
  event: "staging/src/k8s.io/client-go/tools/record/event.go",
  lease: "staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go",
  cri: "staging/src/k8s.io/cri-api/pkg/apis/runtime/v1/api.proto",
  installer: "staging/src/k8s.io/apiserver/pkg/endpoints/installer.go",
  store: "staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go",
  etcd3: "staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go",
} as const;

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TraceEvent } from "../../src/trace/events.js";
import { runInProcess } from "../support/run-cli.js";

/** The facts of a command by the name that rows give it. Each runs once, whatever number of rows it has. */
export type RunName = "pleg" | "node" | "journey" | "request" | "binding" | "etcd";

/** A point of a document: its number, what it is about, the command, upstream's file and function, the fact's text. */
export type Row = readonly [doc: string, point: string, run: RunName, upstream: string, text: RegExp];

const KUBELET = "pkg/kubelet/kubelet.go";
const PODS = "pkg/kubelet/kubelet_pods.go";
const WORKERS = "pkg/kubelet/pod_workers.go";
const PLEG = "pkg/kubelet/pleg/generic.go";
const KUBERUNTIME = "pkg/kubelet/kuberuntime";
const SERVER = "cmd/kubelet/app/server.go";
const CLIENT_GO = "staging/src/k8s.io/client-go";
const APISERVER = "staging/src/k8s.io/apiserver/pkg";
const UNDELTA = `${CLIENT_GO}/tools/cache/undelta_store.go`;

/** The points whose functions the trace names. An empty upstream: the fact has no function of its own. */
export const ROWS: readonly Row[] = [
  // PLEG and the runtime
  [
    "000",
    "GetPods merges sandboxes and containers",
    "pleg",
    `${KUBERUNTIME}/kuberuntime_manager.go GetPods`,
    /^merge 2 sandboxes and 3 containers into 2 pods/,
  ],
  ["004", "relist", "pleg", `${PLEG} relist`, /^Relist 1: /],
  ["004", "computeEvents", "pleg", `${PLEG} computeEvents`, /^old state, new state$/],
  [
    "004",
    "generateEvents logs both states",
    "pleg",
    `${PLEG} generateEvents`,
    /^GenericPLEG podUID=\S+ containerID="[0-9a-f]+" oldState=non-existent newState=running$/,
  ],
  [
    "000",
    "the event of a start",
    "pleg",
    "",
    /^&pleg\.PodLifecycleEvent\{ID:"[^"]+", Type:"ContainerStarted", Data:"[0-9a-f]+"\}$/,
  ],
  [
    "004",
    "generateEvents, of a container that has ended",
    "journey",
    `${PLEG} generateEvents`,
    /^GenericPLEG podUID=\S+ containerID="[0-9a-f]+" oldState=running newState=exited$/,
  ],
  [
    "000",
    "the event, with full IDs",
    "journey",
    "",
    /^&pleg\.PodLifecycleEvent\{ID:"[0-9a-f-]+", Type:"ContainerDied", Data:"[0-9a-f]+"\}$/,
  ],
  [
    "001",
    "RunPodSandbox: pause image, resolv.conf, network",
    "journey",
    "staging/src/k8s.io/cri-api/pkg/apis/runtime/v1/api.proto RunPodSandbox",
    /^sandbox of default\/web: pause image registry\.k8s\.io\/pause:3\.8; name servers of resolv\.conf: .*; address 10\./,
  ],
  [
    "001",
    "the kubelet's part of RunPodSandbox",
    "journey",
    `${KUBERUNTIME}/kuberuntime_sandbox.go createPodSandbox`,
    /^RunPodSandbox of default\/web with this resolv\.conf: /,
  ],
  [
    "004",
    "log directory",
    "journey",
    `${KUBERUNTIME}/kuberuntime_sandbox.go createPodSandbox`,
    /^create the log directory of default\/web: \S+/,
  ],
  ...(["pull the image", "create the container", "start the container", "execute the post start hook"] as const).map(
    (step, i): Row => [
      "001",
      `startContainer, step ${i + 1}`,
      "journey",
      `${KUBERUNTIME}/kuberuntime_container.go startContainer`,
      new RegExp(`of default/web: step ${i + 1} of 4, ${step}: `),
    ],
  ),
  [
    "001",
    "SyncPod: what is to be done",
    "journey",
    `${KUBERUNTIME}/kuberuntime_manager.go computePodActions`,
    /^default\/web: create sandbox/,
  ],

  // Sync loop and pod workers
  [
    "004",
    "HandlePodAdditions",
    "journey",
    `${KUBELET} HandlePodAdditions`,
    /^SyncLoop ADD source="api" pods=\[default\/web\]$/,
  ],
  [
    "004",
    "HandlePodUpdates, by a deletion",
    "journey",
    `${KUBELET} HandlePodUpdates`,
    /^SyncLoop DELETE source="api" pods=\[default\/web\]$/,
  ],
  ["004", "HandlePodRemoves", "node", `${KUBELET} HandlePodRemoves`, /^SyncLoop REMOVE source="file" /],
  ["000", "HandlePodReconcile", "journey", `${KUBELET} HandlePodReconcile`, /^SyncLoop RECONCILE source="api" /],
  [
    "004",
    "HandlePodSyncs, by PLEG",
    "journey",
    `${KUBELET} HandlePodSyncs`,
    /^SyncLoop \(PLEG\): event for pod pod="default\/web" event=&\{ID:\S{36} Type:ContainerStarted Data:\S+\}$/,
  ],
  ["000", "HandlePodCleanups", "node", `${PODS} HandlePodCleanups`, /^SyncLoop \(housekeeping\)$/],
  ["004", "syncLoop", "node", `${KUBELET} syncLoop`, /^Starting kubelet main sync loop$/],
  [
    "004",
    "canAdmitPod",
    "journey",
    `${KUBELET} canAdmitPod`,
    /^no admit handler refuses default\/web beside the node's 0 active pods$/,
  ],
  ["004", "dispatchWork", "journey", `${KUBELET} dispatchWork`, /^dispatch default\/web to its pod worker \(create\)$/],
  [
    "004",
    "UpdatePod starts a worker",
    "journey",
    `${WORKERS} UpdatePod`,
    /^start a pod worker for default\/web: managePodLoop reads its channel/,
  ],
  [
    "004",
    "UpdatePod and an idle worker",
    "journey",
    `${WORKERS} UpdatePod`,
    /^pass the update of default\/web \(create\) to its worker, which is idle$/,
  ],
  ["004", "managePodLoop", "journey", `${WORKERS} managePodLoop`, /^syncPod default\/web$/],
  [
    "000",
    "arguments of newPodWorkers",
    "node",
    `${WORKERS} newPodWorkers`,
    /^pod workers: starts syncing a pod again after 60 s, 10 s after an error, 1 s without a network$/,
  ],
  [
    "004",
    "makePodDataDirs",
    "journey",
    `${PODS} makePodDataDirs`,
    /^create the data directories of default\/web: \S+\/pods\/[0-9a-f-]{36}$/,
  ],
  [
    "004",
    "WaitForAttachAndMount",
    "journey",
    "pkg/kubelet/volumemanager/volume_manager.go WaitForAttachAndMount",
    /^all is attached and mounted for default\/web: 1 volume$/,
  ],
  ["000", "podStatusChannel", "node", "pkg/kubelet/status/status_manager.go NewManager", /podStatusChannel$/],
  [
    "000",
    "RemoveOrphanedStatuses",
    "node",
    "pkg/kubelet/status/status_manager.go RemoveOrphanedStatuses",
    /^remove the status of default\/once-\S+: /,
  ],
  [
    "002",
    "newSourceApiserverFromLW",
    "node",
    "pkg/kubelet/config/apiserver.go newSourceApiserverFromLW",
    /^Watching apiserver: pods with spec\.nodeName=/,
  ],
  ["002", "UndeltaStore, the first list", "node", `${UNDELTA} Replace`, /^UndeltaStore\.Replace pushes SET/],
  ["002", "UndeltaStore, a new pod", "journey", `${UNDELTA} Add`, /^UndeltaStore\.Add pushes SET/],

  // Start-up
  ["003", "Kubelet version", "node", `${SERVER} Run`, /^Kubelet version kubeletVersion="v1\.\d+\.0"$/],
  ["003", "BirthCry", "node", `${KUBELET} BirthCry`, /^Node\/node-1 Starting: Starting kubelet\.$/],
  ["002", "run: KubeClient", "node", `${SERVER} run`, /^client of the API server: starts /],
  ["002", "run: cloud provider", "node", `${SERVER} run`, /^cloud provider: not here, because /],
  ["002", "run: cAdvisor", "node", `${SERVER} run`, /^cAdvisor: not here, because /],
  ["002", "run: ContainerManager", "node", `${SERVER} run`, /^container manager: starts /],
  ["002", "the recorder", "node", `${SERVER} makeEventRecorder`, /^event recorder: starts /],
  [
    "000",
    "an Event of the recorder",
    "journey",
    `${CLIENT_GO}/tools/record/event.go Eventf`,
    /^Pod\/default\/web Started: /,
  ],
  ["002", "RunKubelet", "node", `${SERVER} RunKubelet`, /^kubelet: starts by createAndInitKubelet, then startKubelet$/],
  [
    "002",
    "CreateAndInitKubelet",
    "node",
    `${SERVER} createAndInitKubelet`,
    /^kubelet: starts with NewMainKubelet, BirthCry/,
  ],
  ...(
    [
      ["metrics", "starts"],
      ["folder of log links", "not here, because"],
      ["image manager", "starts"],
      ["server certificate manager", "not here, because"],
      ["OOM watcher", "not here, because"],
      ["resource analyzer", "starts"],
    ] as const
  ).map(
    ([part, what]): Row => [
      "002",
      `initializeModules: ${part}`,
      "node",
      `${KUBELET} initializeModules`,
      new RegExp(`^${part}: ${what} `),
    ],
  ),
  [
    "002",
    "initializeModules: data directories",
    "node",
    `${KUBELET} setupDataDirs`,
    /^data directories: not here, because /,
  ],
  ["002", "StartGarbageCollection", "node", `${KUBELET} StartGarbageCollection`, /^garbage collection: starts /],
  ["003", "Run", "node", `${KUBELET} Run`, /^PLEG: starts relisting every 1 s$/],

  // API server
  [
    "001",
    "URI to handler to Store",
    "request",
    `${APISERVER}/endpoints/installer.go registerResourceHandlers`,
    /^route POST \/api\/v1\/namespaces\/\{namespace\}\/pods to CreateResource of storage pods$/,
  ],
  [
    "001",
    "etcd3 Create: resourceVersion",
    "request",
    `${APISERVER}/storage/etcd3/store.go Create`,
    /^resourceVersion of \/registry\/pods\/default\/web is not set: /,
  ],
  [
    "001",
    "etcd3 Create: TTL",
    "request",
    `${APISERVER}/storage/etcd3/store.go ttlOpts`,
    /^no TTL for \/registry\/pods\/default\/web: /,
  ],
  [
    "001",
    "etcd3 Create: TransformToStorage",
    "request",
    `${APISERVER}/storage/value/encrypt/identity/identity.go TransformToStorage`,
    /^store the bytes of \/registry\/pods\/default\/web as they are: /,
  ],
  [
    "001",
    "BindingREST",
    "journey",
    "pkg/registry/core/pod/storage/storage.go BindingREST.Create",
    /^assign default\/web to node \S+: /,
  ],
  [
    "001",
    "pods/binding",
    "binding",
    `${APISERVER}/endpoints/installer.go registerResourceHandlers`,
    /pods\/\{name\}\/binding to CreateNamedResource of storage pods\/binding$/,
  ],
  [
    "001",
    "storage factory and etcd",
    "etcd",
    `${APISERVER}/storage/storagebackend/factory/factory.go Create`,
    /^newETCD3Storage: a client of etcd at http:\/\/127\.0\.0\.1:\d+$/,
  ],
];

/** A manifest of a static pod, which is taken away once its pod runs. */
const ONCE = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "once" },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "c", image: "busybox:1.36", command: ["sleep", "1h"] }],
  },
};

const BINDING = {
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name: "web" },
  target: { apiVersion: "v1", kind: "Node", name: "node-1" },
};

/** Runs a command, and reads its trace. @param etcdUrl for `etcd` */
export async function factsOf(run: RunName, etcdUrl: string): Promise<readonly TraceEvent[]> {
  const home = mkdtempSync(join(tmpdir(), "kubelab-names-"));
  const trace = join(home, "trace.ndjson");
  const manifests = join(home, "manifests");
  mkdirSync(manifests);
  const once = join(manifests, "once.json");
  writeFileSync(once, JSON.stringify(ONCE));
  const binding = join(home, "binding.json");
  writeFileSync(binding, JSON.stringify(BINDING));
  const stop = new AbortController();
  const argv: Readonly<Record<RunName, readonly string[]>> = {
    pleg: ["pleg", "--mock", "--speed", "20", "--duration", "40s"],
    node: ["node", "--root-dir", join(home, "root"), "--manifest-dir", manifests, "--speed", "10"],
    journey: ["journey", "pod/web", "--delete"],
    request: ["request", "create", "pod/web"],
    binding: ["request", "create", "pod/web/binding", "-f", binding, "--with", "pod/web"],
    etcd: ["cluster", "up", "--etcd", etcdUrl],
  };
  /** Commands that go on by themselves end when their trace has this. */
  const end = { node: "remove the status of default/once", etcd: "newETCD3Storage: a client" };
  const onStderr = (shown: string) => {
    // Undoes the line breaks at 80 columns.
    const text = shown.slice(-20_000).replace(/\s+/g, " ");
    if (/container created (?:→|->) running/.test(text)) rmSync(once, { force: true });
    const last = end[run as keyof typeof end];
    if (last !== undefined && text.includes(last)) stop.abort();
  };
  await runInProcess([...argv[run], "-v", "3", "-o", trace], { signal: stop.signal, onStderr });
  return readFileSync(trace, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as TraceEvent);
}

import { by, type Chapter, differs, EXEC, FILE, HELD, JOURNEY, KILLED, NODE, PLEG, STATIC } from "./table.js";

/** The course (000), from PLEG to exec. */
export const COURSE_KUBELET: readonly Chapter[] = [
  {
    title: "PLEG",
    rows: [
      [
        "what it is",
        "kubelab explain PLEG",
        /lists them all \(a relist\), compares with the list before, and sends an event/,
      ],
      ["getKubeletSandboxes", PLEG, /RuntimeService\/ListPodSandbox → OK 2 items/],
      ["getKubeletContainers", PLEG, /RuntimeService\/ListContainers → OK 3 containers/],
      [
        "GetPods merges both by pod",
        PLEG,
        /^merge 2 sandboxes and 3 containers into 2 pods/,
        by(FILE.runtime, "GetPods"),
      ],
      ["a container's labels name its pod", "kubelab explain getContainerInfoFromLabels", /io\.kubernetes\.pod\.uid/],
      ["a relist each second", PLEG, /^relist every 1 s$/, by(FILE.kubelet, "NewMainKubelet")],
      ["relist", PLEG, /^Relist 1: 5 changes among 2 pods/, by(FILE.pleg, "relist")],
      ["the cache", PLEG, /^cache default\/mypod: now mypod-container running, sandbox ready/],
      [
        "the event of a start",
        PLEG,
        /^&pleg\.PodLifecycleEvent\{ID:"[^"]+", Type:"ContainerStarted", Data:"[0-9a-f]+"\}$/,
      ],
      ["a request kills a pod's container", KILLED, /^default\/mypod mypod-container has been killed$/],
      [
        "&{ef14… ContainerDied …}",
        KILLED,
        /^&pleg\.PodLifecycleEvent\{ID:"ef14133d-[0-9a-f-]+", Type:"ContainerDied", Data:"[0-9a-f]+"\}$/,
      ],
    ],
  },
  {
    title: "the sync loop",
    rows: [
      ["syncLoop", NODE, /^Starting kubelet main sync loop$/, by(FILE.kubelet, "syncLoop")],
      ["configCh", "kubelab explain configCh", /changes of pods from all sources, already merged by PodConfig/],
      ["plegCh", "kubelab explain plegCh", /inside PLEG it is eventChannel, with room for 1,000/],
      ["syncCh", "kubelab explain syncCh", /syncCh ticks each second and asks getPodsToSync/],
      ["housekeepingCh", "kubelab explain housekeepingCh", /The loop's housekeeping, every 2 s/],
      ["the probes' managers", "kubelab explain livenessManager", /three channels with results of probes/],
      ["pods that wait for a sync", "kubelab explain getPodsToSync", /when their time in the work queue has come/],
      ["housekeeping", NODE, /^SyncLoop \(housekeeping\)$/, by(FILE.pods, "HandlePodCleanups")],
    ],
  },
  {
    title: "the status manager",
    rows: [
      [
        "NewManager and podStatusChannel",
        NODE,
        /room for 1000 statuses in podStatusChannel$/,
        by(FILE.status, "NewManager"),
      ],
      ["SetPodStatus", JOURNEY, /^pod default\/web: phase Pending → Running$/, by(FILE.status, "SetPodStatus")],
      ["SetContainerReadiness", "kubelab explain SetContainerReadiness", /sync loop, probes and the end of a pod/],
      ["TerminatePod", JOURNEY, /^version \d of the status of default\/web$/, by(FILE.status, "TerminatePod")],
      [
        "RemoveOrphanedStatuses",
        NODE,
        /^remove the status of default\/once-\S+: /,
        by(FILE.status, "RemoveOrphanedStatuses"),
      ],
      ["apiStatusVersions", "kubelab explain apiStatusVersions", /apiStatusVersions says what the API has/],
      [
        "podDeletionSafety",
        JOURNEY,
        /^do not delete default\/web from the API yet$/,
        by(FILE.pods, "PodResourcesAreReclaimed"),
      ],
    ],
  },
  {
    title: "SyncHandler, PodConfig, pod manager",
    rows: [
      ["SyncHandler", "kubelab explain SyncHandler", /additions, updates, removes, reconcile, syncs, cleanups/],
      ["HandlePodReconcile", JOURNEY, /^SyncLoop RECONCILE source="api" /, by(FILE.kubelet, "HandlePodReconcile")],
      ["PodConfig, incremental", "kubelab explain PodConfigNotificationIncremental", /sends only differences/],
      ["the recorder", JOURNEY, /^Pod\/default\/web Started: /, by(FILE.event, "Eventf")],
      ["the broadcaster", "kubelab explain EventBroadcaster", /the broadcaster passes it to its watchers/],
      [
        "the mirror client",
        STATIC,
        /^create the mirror pod default\//,
        by("pkg/kubelet/pod/mirror_client.go", "CreateMirrorPod"),
      ],
      ["a static pod in the API", STATIC, /^ADD from api: \[default\/\S+-static-node\]$/],
      ["/pods before", "GET /pods", /"kind":"PodList"/],
      ["/pods has a new pod", "GET /pods after kubectl run", /"name":"nginx-kubelet"/],
      ["/pods has it no longer", "GET /pods after kubectl delete", /^(?!.*nginx-kubelet).*"kind":"PodList"/],
    ],
  },
  {
    title: "pod workers",
    rows: [
      [
        "each pod has a worker with its channel",
        JOURNEY,
        /^start a pod worker for default\/web/,
        by(FILE.workers, "UpdatePod"),
      ],
      ["syncPodFn", JOURNEY, /^Sync pod default\/web$/, by(FILE.kubelet, "syncPod")],
      [
        "syncTerminatingPod",
        JOURNEY,
        /^End pod default\/web, with 1 s of grace$/,
        by(FILE.kubelet, "syncTerminatingPod"),
      ],
      ["syncTerminatedPod", JOURNEY, /^Clean up after pod default\/web$/, by(FILE.kubelet, "syncTerminatedPod")],
      [
        "newPodWorkers: resyncInterval and backOffPeriod",
        NODE,
        /^pod workers: starts syncing a pod again after 60 s, 10 s after an error/,
        by(FILE.workers, "newPodWorkers"),
      ],
      ["GetNewerThan blocks", HELD, /^worker of default\/once-\S+: GetNewerThan goes on → is held before GetNewerThan/],
      [
        "/setcache?id=UID lets it go on",
        HELD,
        /^worker of default\/once-\S+: GetNewerThan is held → released by hand$/,
      ],
      ["then syncPodFn runs", HELD, /^Sync pod default\/once-/, by(FILE.kubelet, "syncPod")],
      [
        "a pod that only the runtime has is ended",
        "kubelab explain SyncTerminatingFn",
        /A pod that the runtime has and no source knows is ended too/,
      ],
    ],
  },
  {
    title: "containerd over TCP",
    rows: [
      [
        "tcp_address, disable_tcp_service",
        "kubelab explain config.toml",
        /tcp_address under grpc, and disable_tcp_service = false/,
      ],
      ["the CRI's version", PLEG, /RuntimeService\/Version → OK/],
      ["remote_runtime.go", "kubelab explain remoteRuntimeService", /each method is one gRPC call with a timeout/],
      [
        "stream_server_address",
        "kubelab explain stream_server_address",
        /stream server for exec listens on 127\.0\.0\.1/,
      ],
    ],
  },
  {
    title: "exec",
    rows: [
      ["the course's image", "kubectl get pod nettool -o yaml", /image: (?:docker\.io\/)?cr7258\/nettool:v1/],
      ["containerID", "kubectl get pod nettool -o yaml", /containerID: kubelab:\/\/[0-9a-f]{64}/],
      ["the client's request", EXEC, /POST \/api\/v1\/namespaces\/default\/pods\/nettool\/exec\?.*→ 101/],
      [
        "the API server reverse-proxies",
        EXEC,
        /^ask the kubelet: POST https:\/\/\S+\/exec\/default\/nettool\/nettool\?command=ls/,
      ],
      [
        "the kubelet's route /exec",
        EXEC,
        /^Serve POST \/exec\/default\/nettool\/nettool$/,
        by("pkg/kubelet/server/server.go", "getExec"),
      ],
      ["CRI Exec", EXEC, /RuntimeService\/Exec → OK/],
      ["the runtime's URL", EXEC, /^connect the streams to http:\/\/127\.0\.0\.1:\d+\/exec\/\S+\*/],
      ["URL is not set", "kubelab explain URL is not set", /an empty one is an error/],
      [
        "the URL with [::] gets a host",
        EXEC,
        /^connect the streams to http:\/\/127\.0\.0\.1:/,
        differs(
          "Streams go to the kubelet's own machine only, so [::] becomes 127.0.0.1, never the address of another machine.",
        ),
      ],
      [
        "UpgradeAwareHandler",
        EXEC,
        /^answer 101 Switching Protocols$/,
        by("staging/src/k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go", "tryUpgrade"),
      ],
      ["PortForwardREST", "kubelab explain PortForwardREST", /ExecREST and PortForwardREST find the kubelet's address/],
      [
        "InterceptRedirects",
        "kubelab explain InterceptRedirects",
        /gates and InterceptRedirects are gone since v1\.24/,
      ],
      ["the output of ls", EXEC, /stdout DATA \d+ bytes "bin\\ndev\\ndocker-entrypoint/],
      ["the end of the command", EXEC, /^the remote command: ended, exit code 0/],
    ],
  },
];

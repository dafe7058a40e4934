import { by, type Chapter, differs, FILE, JOURNEY, NODE } from "./table.js";

/** The walk (002) through the start of a kubelet of v1.3. */
export const KUBELET_START: readonly Chapter[] = [
  {
    title: "main and run",
    rows: [
      [
        "hyperkube",
        "kubelab explain hyperkube",
        /Not in releases since v1\.17/,
        differs("Each component is a program of its own again, so there is no first argument that chooses one."),
      ],
      ["NewKubeletServer, Run", "kubelab explain NewKubeletServer", /flags and file become a KubeletServer/],
      [
        "kcfg is kubelet.Dependencies today",
        "kubelab explain NewKubeletServer",
        /collaborators is now kubelet\.Dependencies/,
      ],
      ["KubeClient", NODE, /^client of the API server: starts /, by(FILE.server, "run")],
      ["cloud provider", NODE, /^cloud provider: not here, because /, by(FILE.server, "run")],
      ["cAdvisor", NODE, /^cAdvisor: not here, because /, by(FILE.server, "run")],
      ["ContainerManager", NODE, /^container manager: starts /, by(FILE.server, "run")],
      ["curl 127.0.0.1:10248/healthz", NODE, /GET \/healthz 200 ok/],
    ],
  },
  {
    title: "RunKubelet",
    rows: [
      ["NewBroadcaster and NewRecorder", NODE, /^event recorder: starts /, by(FILE.server, "makeEventRecorder")],
      [
        "RunKubelet",
        NODE,
        /^kubelet: starts by createAndInitKubelet, then startKubelet$/,
        by(FILE.server, "RunKubelet"),
      ],
      [
        "CreateAndInitKubelet",
        NODE,
        /^kubelet: starts with NewMainKubelet, BirthCry/,
        by(FILE.server, "createAndInitKubelet"),
      ],
      [
        "makePodSourceConfig: file and API server",
        NODE,
        /^pod configuration: starts reading pods from \S+ every 20 s, the API server/,
        by(FILE.kubelet, "NewMainKubelet"),
      ],
      ["ManifestURL", "kubelab explain ManifestURL", /the address staticPodURL/],
      [
        "polling the API server",
        "kubelab explain newSourceApiserverFromLW",
        /It is a watch on the API server, no polling/,
        differs("The walk calls it polling; the reflector lists once and watches, in v1.3 as well."),
      ],
      [
        "newSourceApiserverFromLW",
        NODE,
        /^Watching apiserver: pods with spec\.nodeName=/,
        by("pkg/kubelet/config/apiserver.go", "newSourceApiserverFromLW"),
      ],
      ["UndeltaStore, the first list", NODE, /^UndeltaStore\.Replace pushes SET/, by(FILE.undelta, "Replace")],
      ["UndeltaStore, a new pod", JOURNEY, /^UndeltaStore\.Add pushes SET/, by(FILE.undelta, "Add")],
      ["the reflector", "kubelab explain ListAndWatch", /list|watch/i],
    ],
  },
  {
    title: "Run and initializeModules",
    rows: [
      ["startKubelet", "kubelab explain startKubelet", /startKubelet runs its loop and its servers as goroutines/],
      ["step 1: metrics", NODE, /^metrics: starts /, by(FILE.kubelet, "initializeModules")],
      ["step 2: setupDataDirs", NODE, /^data directories: not here, because /, by(FILE.kubelet, "setupDataDirs")],
      [
        "step 3: the folder of container logs",
        NODE,
        /^folder of log links: not here, because /,
        by(FILE.kubelet, "initializeModules"),
      ],
      ["step 4: image manager", NODE, /^image manager: starts /, by(FILE.kubelet, "initializeModules")],
      [
        "step 5: container manager",
        NODE,
        /^device manager: starts /,
        by(FILE.kubelet, "initializeRuntimeDependentModules"),
      ],
      [
        "the serving certificate's manager",
        NODE,
        /^server certificate manager: not here, because /,
        by(FILE.kubelet, "initializeModules"),
      ],
      ["step 6: OOM watcher", NODE, /^OOM watcher: not here, because /, by(FILE.kubelet, "initializeModules")],
      ["step 7: resource analyzer", NODE, /^resource analyzer: starts /, by(FILE.kubelet, "initializeModules")],
      ["syncNodeStatus", NODE, /^node status: starts updating every 10 s$/, by(FILE.kubelet, "Run")],
      [
        "syncNetworkStatus",
        "kubelab explain syncNetworkStatus",
        /the loop went when plugins moved into the dockershim/,
        differs("The runtime owns the network since CRI, and updateRuntimeUp reads its NetworkReady."),
      ],
      ["updateRuntimeUp every 5 s", NODE, /^runtime check: starts asking every 5 s$/, by(FILE.kubelet, "Run")],
      ["statusManager.Start", NODE, /^status manager: starts writing /, by(FILE.kubelet, "Run")],
      ["probeManager", "kubelab explain livenessManager", /one worker for each probe of a container/],
      ["pleg.Start", NODE, /^PLEG: starts relisting every 1 s$/, by(FILE.kubelet, "Run")],
      [
        "syncLoop, syncLoopIteration",
        NODE,
        /^sync loop: starts syncing pods on events and every 1 s$/,
        by(FILE.kubelet, "Run"),
      ],
    ],
  },
  {
    title: "the servers",
    rows: [
      [
        "ListenAndServe with TLS, and the read-only one",
        NODE,
        /listens at https:\/\/\S+, health at http:\/\/\S+, read-only at http/,
      ],
      [
        "InstallDefaultHandlers",
        "kubelab explain InstallDefaultHandlers",
        /adds \/healthz, \/pods, \/stats and \/metrics/,
      ],
      ["curl 127.0.0.1:10255/pods", NODE, /GET \/pods 200 \{"kind":"PodList"/],
      [
        "curl 127.0.0.1:10255/spec/",
        NODE,
        /GET \/spec\/ 404/,
        differs("These endpoints were cAdvisor's: off since v1.18, gone since v1.21; the trace says so."),
      ],
    ],
  },
];

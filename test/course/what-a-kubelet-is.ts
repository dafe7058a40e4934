import { BOOTSTRAP, by, type Chapter, differs, FILE, JOURNEY, NODE, type Row } from "./table.js";

const NODE_YAML = "kubectl get node fake -o yaml";
const CONFIG = "kubelab node config";

/** Fields of the document's /var/lib/kubelet/config.yaml that are v1.25's defaults, too. */
const SETTINGS: readonly (readonly [about: string, shows: RegExp])[] = [
  [
    "address and authentication",
    /address: 0\.0\.0\.0 .*authentication: anonymous: enabled: false webhook: cacheTTL: 2m0s/,
  ],
  ["authorization", /authorization: mode: Webhook webhook: cacheAuthorizedTTL: 5m0s cacheUnauthorizedTTL: 30s/],
  ["cgroups", /cgroupDriver: cgroupfs cgroupsPerQOS: true/],
  ["container logs", /containerLogMaxFiles: 5 containerLogMaxSize: 10Mi/],
  ["events", /eventBurst: 10 eventRecordQPS: 5/],
  [
    "evictionHard",
    /evictionHard: imagefs\.available: 15% memory\.available: 100Mi nodefs\.available: 10% nodefs\.inodesFree: 5%/,
  ],
  ["failSwapOn, fileCheckFrequency", /failSwapOn: true fileCheckFrequency: 20s/],
  ["hairpinMode, healthz", /hairpinMode: promiscuous-bridge healthzBindAddress: 127\.0\.0\.1 healthzPort: 10248/],
  ["images' garbage", /imageGCHighThresholdPercent: 85 imageGCLowThresholdPercent: 80 imageMinimumGCAge: 2m0s/],
  ["limits of requests", /kubeAPIBurst: 10 kubeAPIQPS: 5/],
  ["maxPods", /maxPods: 110/],
  ["port, pulls, resolvConf", /port: 10250 .*registryBurst: 10 registryPullQPS: 5 resolvConf: \/etc\/resolv\.conf/],
  ["runtimeRequestTimeout, serializeImagePulls", /runtimeRequestTimeout: 2m0s .*serializeImagePulls: true/],
  ["streamingConnectionIdleTimeout, syncFrequency", /streamingConnectionIdleTimeout: 4h0m0s syncFrequency: 1m0s/],
];

/** What a kubelet is (003): node, settings, Run, BirthCry. */
export const WHAT_A_KUBELET_IS: readonly Chapter[] = [
  {
    title: "the node",
    rows: [
      ["the name's origin", "kubelab explain Borglet", /the kubelet has its name from it/],
      ["--register-node", "kubelab explain --register-node", /Registers the Node once if --register-node is true/],
      ["kubeadm join", "kubelab explain kubeadm join", /join turns a machine into a node by TLS bootstrap/],
      [
        "systemctl status, journalctl",
        "kubelab explain systemctl status kubelet",
        /An example for a kubelab node is in examples\//,
      ],
      [
        "--bootstrap-kubeconfig",
        "kubelab explain --bootstrap-kubeconfig",
        /asks for a certificate with it, writes the other/,
      ],
      [
        "annotation cri-socket",
        "kubelab explain cri-socket",
        /A kubelab node did not come from kubeadm and has none/,
        differs("kubeadm writes it, not the kubelet, and no kubeadm made this node."),
      ],
      ["annotations of the node", NODE_YAML, /node\.alpha\.kubernetes\.io\/ttl: "0" volumes\.kubernetes\.io/],
      [
        "selfLink",
        "kubelab explain selfLink",
        /empty by default since v1\.20 and never set since v1\.24/,
        differs("API servers do not set it since v1.24."),
      ],
      ["addresses", NODE_YAML, /type: InternalIP .*type: Hostname/],
      ["hugepages", NODE_YAML, /allocatable: .*hugepages-1Gi: "0" hugepages-2Mi: "0"/],
      [
        "condition OutOfDisk",
        "kubelab explain OutOfDisk",
        /Kubelets do not report it since v1\.13/,
        differs("DiskPressure and eviction took its place in v1.13."),
      ],
      [
        "conditions with heartbeat and transition",
        NODE_YAML,
        /- lastHeartbeatTime: \S+ lastTransitionTime: \S+ message/,
      ],
      ["daemonEndpoints", NODE_YAML, /daemonEndpoints: kubeletEndpoint: Port: \d+/],
      ["images", NODE_YAML, /images: - names: - registry\.k8s\.io\/\S+@sha256:/],
      [
        "images of k8s.gcr.io",
        "kubelab explain k8s.gcr.io",
        /registry\.k8s\.io took its place as the default in v1\.25/,
        differs("The old registry is frozen, so the embedded one has registry.k8s.io."),
      ],
      ["nodeInfo", NODE_YAML, /nodeInfo: architecture: \w+ bootID: \S+ containerRuntimeVersion: \S+ kernelVersion/],
    ],
  },
  {
    title: "the settings",
    rows: [
      ...SETTINGS.map(([about, shows]): Row => [about, CONFIG, shows]),
      [
        "podPidsLimit and the two iptables bits",
        CONFIG,
        /iptablesDropBit: 15 iptablesMasqueradeBit: 14 .*podPidsLimit: -1/,
      ],
      [
        "staticPodPath, rotateCertificates, clientCAFile",
        "kubelab explain KubeletConfiguration",
        /kubeadm writes it to \/var\/lib\/kubelet\/config\.yaml/,
        differs("They are kubeadm's choices, not defaults; a file with them is read and checked."),
      ],
      ["curl 127.0.0.1:10248/healthz says ok", NODE, /GET \/healthz 200 ok/],
      ["--port is deprecated", "kubelab explain ListenAndServe", /--port is deprecated: write port into the file/],
      ["what eviction does to scheduling", "kubelab explain evictionHard", /allocatable is smaller by it/],
      ["probes", "kubelab explain livenessManager", /A failed liveness or startup probe syncs the pod/],
      [
        "cAdvisor watches resources",
        "kubelab explain cAdvisor",
        /the library in the kubelet that measures machine and containers/i,
      ],
    ],
  },
  {
    title: "Run and BirthCry",
    rows: [
      ["Version: … in the log", NODE, /^Kubelet version kubeletVersion="v1\.\d+\.0"$/, by(FILE.server, "Run")],
      [
        "initForOS",
        NODE,
        /^OOM adjuster: not here, because /,
        differs("It does something on Windows only, where kubelab runs in WSL."),
      ],
      ["BirthCry", NODE, /^Node\/node-1 Starting: Starting kubelet\.$/, by(FILE.kubelet, "BirthCry")],
      ["BirthCry comes before the registration", BOOTSTRAP, /Starting kubelet\..*Register node node-1/],
      [
        "cleaning up what pods left",
        NODE,
        /^garbage collection: starts removing dead containers/,
        by(FILE.kubelet, "StartGarbageCollection"),
      ],
      ["the pod is kept running", JOURNEY, /^leave pod default\/web as it is$/, by(FILE.runtime, "computePodActions")],
    ],
  },
];

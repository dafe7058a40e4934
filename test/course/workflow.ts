import { by, type Chapter, DEPLOYMENT, differs, FILE, HELD, JOURNEY, KILLED, NODE } from "./table.js";

const SYNC_LOOP_ADD = `kubelab explain 'SyncLoop (ADD, "api"): "web_default(1336f9f0)"'`;

/** The kubelet's workflow (004): configCh, plegCh, pod workers, a Deployment with one replica. */
export const WORKFLOW: readonly Chapter[] = [
  {
    title: "overview",
    rows: [
      [
        "podKiller each second",
        "kubelab explain podKiller",
        /Gone since v1\.22: killing is a job of the pod's worker/,
        differs("The pod's worker kills since v1.22, so that one part alone starts and ends a pod."),
      ],
      [
        "after a restart all pods come as ADD",
        "kubelab explain HandlePodAdditions",
        /After a restart of the kubelet all pods/,
      ],
      ["-v=2", "kubelab explain -v=2", /-v=2 shows the sync loop/],
      [
        "SyncLoop (ADD, api), pasted",
        SYNC_LOOP_ADD,
        /before structured logging \(v1\.21\) it was `SyncLoop \(ADD, "api"\)`/,
      ],
      [
        "SyncLoop ADD",
        JOURNEY,
        /^SyncLoop ADD source="api" pods=\[default\/web\]$/,
        by(FILE.kubelet, "HandlePodAdditions"),
      ],
      ["UPDATE", "kubelab explain 'SyncLoop (UPDATE, api)'", /A pod's spec, labels or annotations have changed/],
      ["DELETE", JOURNEY, /^SyncLoop DELETE source="api" pods=\[default\/web\]$/, by(FILE.kubelet, "HandlePodUpdates")],
      ["REMOVE", JOURNEY, /^SyncLoop REMOVE source="api" pods=\[default\/web\]$/, by(FILE.kubelet, "HandlePodRemoves")],
      [
        "RESTORE",
        "kubelab explain RESTORE",
        /Gone since v1\.19 together with --bootstrap-checkpoint-path/,
        differs("Checkpoints of pods are gone since v1.19; static pods do their work."),
      ],
      [
        "SyncLoop (PLEG)",
        JOURNEY,
        /^SyncLoop \(PLEG\): event for pod pod="default\/web" event=&\{ID:\S{36} Type:ContainerStarted Data:\S+\}$/,
        by(FILE.kubelet, "HandlePodSyncs"),
      ],
      [
        "the event in Go's form",
        JOURNEY,
        /^&pleg\.PodLifecycleEvent\{ID:"[0-9a-f-]+", Type:"ContainerDied", Data:"[0-9a-f]+"\}$/,
      ],
      [
        "docker ps",
        "kubelab explain docker ps",
        /`?docker ps`? no longer shows pods: `?crictl ps`? does/,
        differs("Kubelets talk CRI since v1.24, so crictl lists the containers, also of the embedded runtime."),
      ],
    ],
  },
  {
    title: "configCh",
    rows: [
      ["the merged sources", JOURNEY, /^ADD from api: \[default\/web\]$/, by("pkg/kubelet/config/config.go", "Merge")],
      [
        "canAdmitPod",
        JOURNEY,
        /^no admit handler refuses default\/web beside the node's 0 active pods$/,
        by(FILE.kubelet, "canAdmitPod"),
      ],
      [
        "affinity between pods",
        "kubelab explain canAdmitPod",
        /Affinity between pods is the scheduler's alone/,
        differs("The kubelet checks node affinity only; it never knew the other nodes' pods."),
      ],
      [
        "dispatchWork",
        JOURNEY,
        /^dispatch default\/web to its pod worker \(create\)$/,
        by(FILE.kubelet, "dispatchWork"),
      ],
      [
        "UpdatePod: a channel of one, and managePodLoop",
        JOURNEY,
        /^start a pod worker for default\/web: managePodLoop reads its channel of one update/,
        by(FILE.workers, "UpdatePod"),
      ],
      [
        "UpdatePod: not working",
        JOURNEY,
        /^pass the update of default\/web \(create\) to its worker, which is idle$/,
        by(FILE.workers, "UpdatePod"),
      ],
      [
        "UpdatePod: lastUndeliveredWorkUpdate",
        JOURNEY,
        /^keep the update of default\/web \(sync\) in lastUndeliveredWorkUpdate/,
        by(FILE.workers, "UpdatePod"),
      ],
      ["SyncPodKill is not overwritten", "kubelab explain UpdatePod", /nothing replaces a kill \(SyncPodKill\)/],
      [
        "OnCompleteFunc",
        "kubelab explain OnCompleteFunc",
        /OnCompleteFunc ended with v1\.22/,
        differs("It is gone since v1.22."),
      ],
      [
        "PodWorkerLatency",
        "kubelab explain PodWorkerLatency",
        /Since v1\.14 it is PodWorkerDuration/,
        differs("The metric is PodWorkerDuration since v1.14."),
      ],
      ["managePodLoop", JOURNEY, /^syncPod default\/web$/, by(FILE.workers, "managePodLoop")],
      [
        "GetNewerThan",
        HELD,
        /^worker of default\/once-\S+: GetNewerThan goes on → is held/,
        by("pkg/kubelet/container/cache.go", "GetNewerThan"),
      ],
    ],
  },
  {
    title: "syncPod",
    rows: [
      [
        "mkdir pods/UID",
        JOURNEY,
        /^create the data directories of default\/web: \S+\/pods\/[0-9a-f-]{36}$/,
        by(FILE.pods, "makePodDataDirs"),
      ],
      [
        "WaitForAttachAndMount",
        JOURNEY,
        /^all is attached and mounted for default\/web: 1 volume$/,
        by("pkg/kubelet/volumemanager/volume_manager.go", "WaitForAttachAndMount"),
      ],
      ["getPullSecretsForPod", "kubelab explain syncPod", /gets pull secrets/],
      [
        "containerRuntime.SyncPod",
        JOURNEY,
        /^Bring the runtime to the spec of pod default\/web$/,
        by(FILE.runtime, "SyncPod"),
      ],
      [
        "createPodSandbox, and the folder of logs",
        JOURNEY,
        /^create the log directory of default\/web: \S+\/default_web_/,
        by(FILE.sandbox, "createPodSandbox"),
      ],
      [
        "/var/log/pods/UID",
        "kubelab explain /var/log/pods",
        /before v1\.14 its name was the UID alone/,
        differs("The folder has the namespace and the name in front of the UID since v1.14."),
      ],
      [
        "a Deployment's pod",
        DEPLOYMENT,
        /^SyncLoop ADD source="api" pods=\[default\/nginx-\S+\]$/,
        by(FILE.kubelet, "HandlePodAdditions"),
      ],
    ],
  },
  {
    title: "plegCh",
    rows: [
      ["GetPods(true)", NODE, /^merge 1 sandbox and 1 container into 1 pod/, by(FILE.runtime, "GetPods")],
      ["old state and new state", NODE, /^changes since the last relist$/, by(FILE.pleg, "computeEvents")],
      [
        "generateEvents: GenericPLEG: … -> …",
        JOURNEY,
        /^GenericPLEG [0-9a-f]{8}\/[0-9a-f]{12}: running → exited$/,
        by(FILE.pleg, "generateEvents"),
      ],
      ["ContainerStarted", NODE, /^ContainerStarted default\/once-node-1 c [0-9a-f]+$/],
      ["ContainerDied", JOURNEY, /^ContainerDied default\/web nginx [0-9a-f]+$/],
      ["ContainerRemoved", KILLED, /^ContainerRemoved default\/mypod mypod-container [0-9a-f]+$/],
      ["ContainerChanged", "kubelab explain generateEvents", /to unknown ContainerChanged/],
      [
        "HandlePodSyncs goes to UpdatePod",
        JOURNEY,
        /^dispatch default\/web to its pod worker \(sync\)$/,
        by(FILE.kubelet, "dispatchWork"),
      ],
      [
        "cleanUpContainersInPod",
        JOURNEY,
        /^remove 1 dead container of default\/web$/,
        by("pkg/kubelet/pod_container_deletor.go", "deleteContainersInPod"),
      ],
      [
        "MaxPerPodContainerCount: 1",
        "kubelab explain MaxPerPodContainerCount",
        /keeps the newest of each \(MaxPerPodContainerCount is 1\)/,
      ],
    ],
  },
];

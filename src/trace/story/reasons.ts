import type { TraceEvent, Upstream } from "../events.js";

/** Notes of the sync loop, each about a message from one of its channels. */
export const CHANNEL = /^SyncLoop (?:([A-Z]+) source=|\((PLEG)\): event for pod|\((probe)\) )/;

const SYNC_LOOP = { file: "pkg/kubelet/kubelet.go", func: "syncLoopIteration" };
const WATCH = { file: "staging/src/k8s.io/client-go/tools/cache/reflector.go", func: "watchHandler" };
const RECORDER = { file: "staging/src/k8s.io/client-go/tools/record/event.go", func: "generateEvent" };
const POD_CACHE = { file: "pkg/kubelet/container/cache.go", func: "Set" };
const PLEG = { file: "pkg/kubelet/pleg/generic.go", func: "generateEvents" };
/** PLEG's decisions, each an event that it sends. */
export const LIFECYCLE = /^Container(?:Started|Died|Removed) /;
const CRI_API = "staging/src/k8s.io/cri-api/pkg/apis/runtime/v1/api.proto";
const HANDLERS = "staging/src/k8s.io/apiserver/pkg/endpoints/handlers";

/** The API server's handler of each method. */
const REQUESTS: Readonly<Record<string, Upstream>> = {
  POST: { file: `${HANDLERS}/create.go`, func: "createHandler" },
  PUT: { file: `${HANDLERS}/update.go`, func: "UpdateResource" },
  PATCH: { file: `${HANDLERS}/patch.go`, func: "PatchResource" },
  DELETE: { file: `${HANDLERS}/delete.go`, func: "DeleteResource" },
  log: { file: `${HANDLERS}/get.go`, func: "GetResourceWithOptions" },
};
/** The handler of streams, for each method: restfulConnectResource of installer.go calls it. */
const CONNECT = { file: `${HANDLERS}/rest.go`, func: "ConnectResource" };
const UPGRADE = { file: "staging/src/k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go", func: "tryUpgrade" };
const EXIT_CODE = { file: "staging/src/k8s.io/client-go/tools/remotecommand/v4.go", func: "decode" };
const UPGRADED = /^upgraded to /;
const ENDED = /^(?:connection )?ended[:,]/;
const CRI: Readonly<Record<string, string>> = {
  RuntimeService: "pkg/kubelet/cri/remote/remote_runtime.go",
  ImageService: "pkg/kubelet/cri/remote/remote_image.go",
};
/** The names of the runtime's states in its API. */
const RUNTIME_STATES: Readonly<Record<string, string>> = {
  sandbox: "PodSandboxState",
  container: "ContainerState",
  image: "PullImage",
};

const SERVED = "The kubelet has no streams of its own: it asks the runtime where they are.";
/** The purposes of the kubelet's functions, and of those that kubeadm calls for it. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  UpdatePod: "Each pod has a worker of its own, which handles the pod's updates one after the other.",
  syncPod: "The worker brings the pod to what its spec asks for: volumes, images, sandbox, containers.",
  SetPodStatus: "The status manager keeps the newest status of each pod, and patches it into the API.",
  startReflector: "The kubelet watches each ConfigMap and Secret as long as one of its pods needs it.",
  GenerateMountVolumeFunc: "Containers start only when all volumes of their pod are mounted.",
  WaitForUnmount: "The pod can be deleted only when its volumes are unmounted.",
  SyncPod:
    "The kubelet compares the spec with the sandbox and the containers of the runtime, and changes what differs.",
  relist: "PLEG lists the runtime's sandboxes and containers, and compares them with its previous list.",
  syncTerminatingPod: "The worker stops all containers, and comes back until none runs.",
  completeTerminating: "No container runs any more; the pod's volumes and directories are left.",
  syncTerminatedPod: "The worker waits for the volumes to be unmounted, and reports the last status.",
  completeTerminated: "The worker has nothing left to do for the pod.",
  CreateNewTokens: "The kubelet has no certificate yet: it asks for one with this token.",
  runKubeletStartJoinPhase: "Two kubelets of one name would write the same Node, and the same pods.",
  LoadClientCert: "The private key stays on the node; the request has only its public half.",
  requestNodeCertificate: "A controller approves the request, and another one signs it with the cluster's CA.",
  Update: "The kubelet finds both here when it starts again.",
  "Test the new identity by reading this kubelet's own Node":
    "The API server now knows the kubelet as system:node:NAME.",
  writeKubeconfigFromBootstrapping: "From now on the kubelet asks with its certificate, not with the token.",
  RunDeleteTokens: "Nobody else can join with this token.",
  registerWithAPIServer: "The scheduler, controllers and clients know the node by its Node object.",
  fastStatusUpdateOnce: "The scheduler chooses only nodes that are Ready.",
  getExec: SERVED,
  getAttach: SERVED,
  getPortForward: SERVED,
  getContainerLogs: "The kubelet reads the container's log file on its node.",
};
/** The purposes of the commands that ask for a stream, by kubectl's functions. */
const ASKED = "The client asks only the API server, which passes the request on to the kubelet of the pod's node.";
const COMMANDS = new Set(["Run", "RunLogs", "RunPortForward"]);
const STREAMED = "The runtime serves the streams itself; the kubelet connects them.";
/** The purposes of the runtime's calls and of what is written. */
const CALLS: Readonly<Record<string, string>> = {
  RunPodSandbox: "The containers of a pod share its sandbox, so it comes first.",
  PullImage: "A container needs its image on the node.",
  CreateContainer: "A container is created before it starts, with its mounts, environment and limits.",
  StartContainer: "The container is there; now its process starts.",
  StopContainer: "The process gets its stop signal, and SIGKILL after the grace period.",
  StopPodSandbox: "No container needs the pod's network any more.",
  RemoveContainer: "The container has ended, and nobody needs it any more.",
  Exec: STREAMED,
  Attach: STREAMED,
  PortForward: STREAMED,
  binding: "The scheduler writes only its choice; the kubelet of that node acts on it.",
  status: "Other components see this state only through the API.",
};
const STATES: Readonly<Record<string, string>> = {
  sandbox: "The sandbox has the pod's network, which all its containers share.",
  container: "The runtime has changed the container; the kubelet's cache has that after the next relist.",
  image: "The runtime has the image; containers of other pods can use it as well.",
};
const CHANNELS: Readonly<Record<string, string>> = {
  ADD: "The channel of config updates has a pod that is new on this node.",
  UPDATE: "The channel of config updates has a pod whose spec or metadata changed.",
  DELETE: "The channel of config updates has a pod that is to end gracefully.",
  REMOVE: "The channel of config updates has a pod that the API no longer has.",
  RECONCILE: "The channel of config updates has a pod whose status alone changed.",
  PLEG: "The channel of PLEG has a container or a sandbox that changed: the pod's worker is to look at it.",
  probe: "The channel of the probes has a new result: the pod's worker is to act on it.",
};

/** The reason or purpose of a step, in one sentence. */
export function whyOf(event: TraceEvent): string | undefined {
  switch (event.kind) {
    case "decision":
      return event.why === "" ? undefined : event.why;
    case "request":
      return (
        CALLS[/\/(binding|status)(?:\?|$)/.exec(event.path)?.[1] ?? ""] ??
        `${capitalised(who(event))} asks as ${event.identity}; the response took ${ms(event.durationMs)}.`
      );
    case "rpc":
      return (
        CALLS[event.method] ??
        `${capitalised(who(event))} asks the runtime at ${event.endpoint}; the response took ${ms(event.durationMs)}.`
      );
    case "watch":
      return `The watch that ${who(event)} holds open delivered this version.`;
    case "event":
      return `${capitalised(who(event))} records an Event, which \`kubectl describe\` shows.`;
    case "note":
      if (event.actor === "controller")
        return "Only when the grace period is over is the node Unknown: a renewal may still come.";
      return CHANNELS[
        CHANNEL.exec(event.text)
          ?.slice(1)
          .find((name) => name !== undefined) ?? ""
      ];
    case "state":
      return stateWhy(event);
    case "step": {
      const { func = event.title } = event.upstream ?? {};
      return event.actor === "user" && COMMANDS.has(func) ? ASKED : FUNCTIONS[func];
    }
    default:
      return undefined;
  }
}

function stateWhy({ actor, what, subject, to, version, upstream }: TraceEvent & { kind: "state" }): string | undefined {
  if (ENDED.test(`${what} ${to}`)) return "A connection ends with the process behind it, or when one side closes it.";
  if (UPGRADED.test(to)) return "From here on the connection carries frames of streams, not HTTP.";
  if (what === "deletionTimestamp") return "The kubelet of its node stops its containers; only then is it removed.";
  if (version !== undefined) return "Each watch of this resource gets an event with this version.";
  if (actor === "runtime") return STATES[what];
  if (subject.startsWith("cache ")) return "Workers wait for the cache, which has the status of the last relist.";
  return FUNCTIONS[upstream?.func ?? ""];
}

/** The upstream code that does the same. */
export function upstreamOf(event: TraceEvent): Upstream | undefined {
  switch (event.kind) {
    case "request":
      return /\/pods\/[^/]+\/(?:exec|attach|portforward)(?:\?|$)/.test(event.path)
        ? CONNECT
        : REQUESTS[/\/pods\/[^/]+\/log(?:\?|$)/.test(event.path) ? "log" : event.method];
    case "watch":
      return WATCH;
    case "event":
      return event.upstream ?? RECORDER;
    case "note":
      return event.upstream ?? SYNC_LOOP;
    case "rpc": {
      const file = CRI[event.service];
      return file === undefined ? undefined : { file, func: event.method };
    }
    case "state":
      return event.upstream ?? stateUpstream(event);
    case "decision":
      return event.upstream ?? (LIFECYCLE.test(event.what) ? PLEG : undefined);
    case "step":
      return event.upstream;
    default:
      return undefined;
  }
}

function stateUpstream({ actor, what, subject, to }: TraceEvent & { kind: "state" }): Upstream | undefined {
  if (actor === "user" && to.startsWith("exit code ")) return EXIT_CODE;
  if (actor === "kubelet" && what === "connection") return UPGRADE;
  if (subject.startsWith("cache ")) return POD_CACHE;
  const func = actor === "runtime" ? RUNTIME_STATES[what] : undefined;
  return func === undefined ? undefined : { file: CRI_API, func };
}

function ms(durationMs: number): string {
  return `${durationMs.toFixed(0)} ms`;
}

/** `the kubelet of node-1`, `the API server` */
function who({ actor, instance }: TraceEvent): string {
  if (actor === "user") return "the client";
  if (actor === "apiserver") return "the API server";
  if (instance === undefined) return `the ${actor}`;
  return actor === "controller" ? `the controller ${instance}` : `the ${actor} of ${instance}`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Topics of `kubelab explain`, by the function, the path or the kind of a fact. */
const TOPICS: readonly (readonly [RegExp, string])[] = [
  [/\/binding$/, "BindingREST"],
  [/\/pods\/[^/]+\/(?:exec|attach|portforward)(?:\?|$)/, "exec"],
  [/\/pods\/[^/]+\/log(?:\?|$)|^(?:RunLogs|getContainerLogs)$/, "container log"],
  [/\/leases\/|^sync$/, "Lease"],
  [/\/certificatesigningrequests|^WaitForCertificate$/, "CSR"],
  [
    /^(?:isClientConfigStillValid|LoadClientCert|requestNodeCertificate|writeKubeconfigFromBootstrapping)$/,
    "TLS bootstrap",
  ],
  [/^(?:CreateNewTokens|RunDeleteTokens)$/, "bootstrap token"],
  [/^(?:tryUpdateNodeHealth|monitorNodeHealth)$/, "node-monitor-grace-period"],
  [/^doNo(?:Execute|Schedule)TaintingPass$/, "taint"],
  [/^processPodOnNode$/, "TaintManagerEviction"],
  [/^(?:fastStatusUpdateOnce|tryUpdateNodeStatus)$/, "heartbeat"],
  [/^WithAuthorization$/, "RBAC"],
  [/^chainAdmissionHandler\./, "admission"],
  [/^(?:BeforeCreate|BeforeUpdate|strategy\..*)$/, "Store"],
  [/^tryUpgrade$/, "UpgradeAwareHandler"],
  [/^WithAuthentication$/, "Unauthorized"],
  [/^InstallAuthFilter$/, "kubelet authentication"],
  [/^dispatchEvent$/, "watch"],
  [/^syncTerminatedPod$/, "syncTerminatingPod"],
  [/^(?:RunPodSandbox|generateEvents|syncPod|syncTerminatingPod|computePodActions|SetPodStatus|getExec)$/, "$&"],
];

/** The topic of `kubelab explain` that says more about a fact. */
export function topicOf(event: TraceEvent): string | undefined {
  const { kind, actor } = event;
  if (kind === "watch") return "watch";
  if (kind === "state" && actor === "apiserver") return event.version === undefined ? undefined : "resourceVersion";
  if (kind === "state" && actor === "runtime") return event.what === "sandbox" ? "sandbox" : undefined;
  if (kind === "step" && actor === "user" && event.upstream?.func === "Run") return "exec";
  const key = kind === "request" ? event.path : (upstreamOf(event)?.func ?? "");
  for (const [pattern, topic] of TOPICS) if (pattern.test(key)) return topic.replace("$&", key);
  if (kind === "rpc") return "CRI";
  return kind === "decision" && actor === "scheduler" ? "scheduler" : undefined;
}

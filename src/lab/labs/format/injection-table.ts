import { TLS_FAULTS } from "../../../cluster/apiserver/endpoints/faults/server-faults.js";
import { WATCH_FAULTS } from "../../../cluster/apiserver/endpoints/faults/watch-faults.js";
import { DNS_FAULTS } from "../../../cluster/dns/dns-faults.js";
import { WRONG_ANSWERS } from "../../../cluster/runtime/control/faults.js";
import { PULL_FAULTS } from "../../../cluster/runtime/images/pull-fault.js";
import { NETWORK_CUTS } from "../../../cluster/runtime/network/network-cut.js";

/** Whole numbers from `least` to `most`. */
interface Range {
  readonly least: number;
  readonly most: number;
}

/** The type of an argument: `text`, `number`, `flag`, one of some words, a range; a final `!` marks it as required. */
export type ArgumentKind = "text" | "text!" | "number" | "number!" | "flag" | readonly string[] | Range;

type Arguments = Readonly<Record<string, string | number | boolean>>;

/** What labs inject and scenarios cause. */
interface Injection {
  readonly takes: Readonly<Record<string, ArgumentKind>>;
  /** what breaks like this in real life, in one sentence; absent for what is no fault */
  readonly inRealLife?: string;
  /** the injection that takes it back; absent for what cannot be undone */
  readonly undo?: (args: Arguments) => readonly [name: string, args: Arguments];
}

/** The affected node; optional if the lab has one node. */
const NODE = { node: "text" } as const;
/** The newest container of a pod, or the named one. */
const CONTAINER = { ...NODE, pod: "text!", container: "text" } as const;

/** The requests that a fault of the API server meets; absent arguments match all. `node`: those of its kubelet. */
const REQUESTS = { ...NODE, user: "text", verb: "text", resource: "text", namespace: "text", name: "text" } as const;

/** The same injection with only the arguments that say where it is, which takes it back. */
function without(name: string, ...keys: readonly string[]): Pick<Injection, "undo"> {
  const isPlace = ([key]: readonly [string, unknown]) => key === "node" || keys.includes(key);
  return { undo: (args) => [name, Object.fromEntries(Object.entries(args).filter(isPlace))] };
}

/** The injections by name. Injections on nodes need `nodes:`. */
export const INJECTIONS: Readonly<Record<string, Injection>> = {
  /** waits `minutes` of the lab's clock */
  "time-passes": { takes: { minutes: "number!" } },
  /** sets the speed of the lab's clock */
  speed: { takes: { factor: "number!" } },
  /** stops the kubelet; `power` also ends its containers */
  "node-stop": {
    takes: { ...NODE, power: "flag" },
    inRealLife: "A kubelet crashes, or its machine loses power.",
    undo: ({ node }) => ["node-start", { ...(node === undefined ? {} : { node }), unattended: true }],
  },
  /** starts the kubelet again; `unattended`: does not wait for its registration */
  "node-start": { takes: { ...NODE, unattended: "flag" } },
  /** sets NetworkReady or RuntimeReady to false with `message`; without it, to true */
  "runtime-condition": {
    takes: { ...NODE, condition: "text!", message: "text" },
    inRealLife: "A CNI plugin is missing after an upgrade, or containerd reports that it is not ready.",
    ...without("runtime-condition", "condition"),
  },
  /** makes calls of one kind (`ListContainers`, `*`) hang, wait, fail or answer wrongly; with only `rpc`, restores them */
  "runtime-fault": {
    takes: {
      ...{ ...NODE, rpc: "text!", hangs: "flag", delayMs: "number", code: "text", message: "text", count: "number" },
      answer: WRONG_ANSWERS,
    },
    inRealLife:
      "A shim waits for a process in uninterruptible sleep, a full disk makes calls of the CRI fail or hang, or a cache of the runtime is empty or stale.",
    ...without("runtime-fault", "rpc"),
  },
  /** ends the runtime's process, whose containers live on; `started` starts it again */
  "runtime-stop": {
    takes: { ...NODE, started: "flag" },
    inRealLife: "containerd crashes, is killed for its memory, or is restarted for an upgrade.",
    undo: (args) => ["runtime-stop", { ...args, started: true }],
  },
  "kill-container": {
    takes: { ...CONTAINER, exitCode: "number", signal: "text", oom: "flag" },
    inRealLife: "The kernel's out-of-memory killer ends a process that leaks, or a program crashes.",
  },
  /** without the kubelet; `silently`: without an event */
  "remove-container": {
    takes: { ...CONTAINER, silently: "flag" },
    inRealLife: "Somebody cleans up with crictl or nerdctl on the node, behind the kubelet's back.",
  },
  "sandbox-not-ready": {
    takes: { ...NODE, pod: "text!" },
    inRealLife: "The pause process of a pod is killed, or the runtime restarts and loses the sandbox.",
  },
  /** fails pulls of images whose name contains `image`; without `how`, restores them */
  "pull-fault": {
    takes: { ...NODE, image: "text!", how: PULL_FAULTS },
    inRealLife: "A registry is down, its token has expired, or its rate limit is reached.",
    ...without("pull-fault", "image"),
  },
  /** sets the duration of a pull, in ms of the lab's clock */
  "pull-time": { takes: { ...NODE, ms: "number!" } },
  /** drops container events, or only the next `count`; `count: 0` restores them */
  "drop-events": {
    takes: { ...NODE, count: "number" },
    inRealLife: "A slow reader or a restart of the runtime loses container events.",
    undo: ({ node }) => ["drop-events", { ...(node === undefined ? {} : { node }), count: 0 }],
  },
  /** sends container events twice, or only the next `count`; `count: 0` ends it */
  "repeat-events": {
    takes: { ...NODE, count: "number" },
    inRealLife: "A runtime sends its events again after a reader has reconnected.",
    undo: ({ node }) => ["repeat-events", { ...(node === undefined ? {} : { node }), count: 0 }],
  },
  /** answers requests with a code, late or not at all; with only the requests, handles them again */
  "api-fault": {
    takes: {
      ...REQUESTS,
      code: { least: 400, most: 599 },
      retryAfterSeconds: "number",
      delayMs: "number",
      drops: "flag",
      count: "number",
    },
    inRealLife:
      "An API server is overloaded or loses etcd, a proxy before it drops connections, or a client has a stale version.",
    ...without("api-fault", ...Object.keys(REQUESTS)),
  },
  /** holds back, ends, repeats or expires watches, open ones too; without `how`, lets them go on */
  "watch-fault": {
    takes: { ...REQUESTS, how: WATCH_FAULTS, count: "number" },
    inRealLife:
      "A half-open connection or a stuck watch cache delivers nothing, a load balancer ends watches, or etcd was compacted.",
    ...without("watch-fault", ...Object.keys(REQUESTS)),
  },
  /** separates a node and the control plane, in both directions; without `how`, joins them; needs `nodeOptions: { link: true }` */
  partition: {
    takes: { ...NODE, how: ["drop", "refuse"] },
    inRealLife:
      "A switch, a firewall rule or a lost route separates a node from the control plane: packets vanish, or are refused.",
    ...without("partition"),
  },
  /** delays each write to the storage; without `delayMs`, writes are as fast as before */
  "slow-storage": {
    takes: { delayMs: "number" },
    inRealLife: "The disk of etcd is slow: a noisy neighbour, a backup, or no SSD.",
    ...without("slow-storage"),
  },
  /** ends the control plane, and starts it again after `seconds`; without them, when it is taken back. Needs `apiServerPod: true` */
  "apiserver-restart": {
    takes: { seconds: "number" },
    inRealLife: "The API server is restarted for an upgrade, is killed for its memory, or fails its liveness probe.",
    undo: () => ["apiserver-restart", { seconds: 0 }],
  },
  /**
   * starts the node's kubelet again with a clock that is wrong by `seconds`, negative if it is late, and gains `gainsPerHour` seconds;
   * without both, a right one
   */
  "clock-skew": {
    takes: { ...NODE, seconds: "number", gainsPerHour: { least: -1_800, most: 36_000 } },
    inRealLife:
      "A machine resumes from a snapshot, its time service has a wrong server, or its clock drifts without one.",
    ...without("clock-skew"),
  },
  /** makes the disk of the node slow (`delayMs`) or read-only; without both, sound again */
  "disk-fault": {
    takes: { ...NODE, readOnly: "flag", delayMs: "number" },
    inRealLife:
      "The kernel remounts a disk with errors read-only, a network disk is slow, or its credits for input and output are used up.",
    ...without("disk-fault"),
  },
  /** lets a container use `bytes` of the node's disk; default: all of it */
  "disk-full": {
    takes: { ...CONTAINER, bytes: "number" },
    inRealLife: "A container writes logs, dumps or a cache until the node has no space left.",
    undo: (args) => ["disk-full", { ...args, bytes: 0 }],
  },
  /** the API server refuses the client certificate of the node's kubelet as expired; `renewed` takes it back */
  "certificate-expired": {
    takes: { ...NODE, renewed: "flag" },
    inRealLife:
      "A kubelet could not renew its certificate in time: nobody approved its request, or it was off for too long.",
    undo: (args) => ["certificate-expired", { ...args, renewed: true }],
  },
  /** serves the API with a wrong certificate; without `how`, with the right one */
  "tls-fault": {
    takes: { how: TLS_FAULTS },
    inRealLife:
      "The certificate of an API server has expired, is not valid yet, was issued by another CA, or misses the name that clients use.",
    ...without("tls-fault"),
  },
  /** cuts open streams of exec, attach, port-forward, logs and proxies in a frame; the API server's clients see it */
  "stream-cut": {
    takes: REQUESTS,
    inRealLife: "A load balancer or a VPN drops the connection of kubectl exec, logs -f or port-forward.",
  },
  /** the clients of streams read nothing; `over`: they read again */
  "stream-stall": {
    takes: { ...REQUESTS, over: "flag" },
    inRealLife: "Somebody stops kubectl logs -f with Ctrl-S, or reads it over a slow line, and the writer has to wait.",
    undo: (args) => ["stream-stall", { ...args, over: true }],
  },
  /** the cluster's name server answers wrongly (`how`) or late for names that contain `name`; without both, rightly again */
  "dns-fault": {
    takes: { name: "text", how: DNS_FAULTS, delayMs: "number" },
    inRealLife:
      "CoreDNS is overloaded, loses its packets in a full connection table, or answers from an old configuration.",
    ...without("dns-fault", "name"),
  },
  /** separates a node's pods from the other nodes, or delays what passes; without both, joins them */
  "pod-network-fault": {
    takes: { ...NODE, how: NETWORK_CUTS, delayMs: "number" },
    inRealLife:
      "A network plugin loses its routes, a firewall blocks the overlay's port, or two zones are far from each other.",
    ...without("pod-network-fault"),
  },
};

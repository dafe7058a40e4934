import { TLS_FAULTS } from "../../../cluster/apiserver/endpoints/faults/server-faults.js";
import { WATCH_FAULTS } from "../../../cluster/apiserver/endpoints/faults/watch-faults.js";
import { DNS_FAULTS } from "../../../cluster/dns/dns-faults.js";
import { WRONG_ANSWERS } from "../../../cluster/runtime/control/faults.js";
import { PULL_FAULTS } from "../../../cluster/runtime/images/pull-fault.js";
import { NETWORK_CUTS } from "../../../cluster/runtime/network/network-cut.js";
import type { Random } from "../../../util/random.js";
import { FAULTS } from "../faults.js";
import type { InvariantName } from "../invariants.js";
import type { Scenario } from "../scenario.js";
import { Pick } from "./pick.js";
import { SHAPES } from "./shapes.js";

type Fault = Scenario["do"][number];
type Arguments = Fault["with"];

/** Where faults can strike. */
interface Places {
  readonly node: string;
  /** undefined: the cluster has no pod with a known name */
  readonly pod: string | undefined;
}

const MOST_FAULTS = 5;
/** All faults begin within this time, in s. */
const FAULTS_SECONDS = 120;
const MOST_SECONDS = 400;

const RPCS = [
  "RunPodSandbox",
  "StopPodSandbox",
  "RemovePodSandbox",
  "PodSandboxStatus",
  "ListPodSandbox",
  "CreateContainer",
  "StartContainer",
  "StopContainer",
  "RemoveContainer",
  "ListContainers",
  "ContainerStatus",
  "ExecSync",
  "PullImage",
  "ImageStatus",
  "Status",
  "*",
] as const;
const GRPC = ["Unavailable", "Unknown", "NotFound", "DeadlineExceeded", "ResourceExhausted"] as const;
const STATUS = [403, 404, 409, 410, 422, 429, 500, 503, 504] as const;
const RESOURCES = ["*", "pods", "pods/status", "nodes", "nodes/status", "leases", "events", "configmaps"] as const;
const VERBS = ["*", "get", "list", "watch", "create", "update", "patch", "delete"] as const;

/** The arguments of each fault; undefined: it has no place in this cluster. */
const ARGUMENTS: Readonly<Record<string, (pick: Pick, places: Places) => Arguments | undefined>> = {
  "node-stop": (pick, { node }) => ({ node, ...(pick.chance(0.3) ? { power: true } : {}) }),
  "runtime-condition": (pick, { node }) => ({
    node,
    condition: pick.one(["NetworkReady", "RuntimeReady"]),
    message: "made false",
  }),
  "runtime-fault": (pick, { node }) => ({ node, rpc: pick.one(RPCS), ...runtimeAnswer(pick), ...count(pick) }),
  "kill-container": (pick, { node, pod }) =>
    pod === undefined
      ? undefined
      : { node, pod, ...(pick.chance(0.5) ? { exitCode: pick.one([0, 1]) } : { oom: true }) },
  "remove-container": (pick, { node, pod }) =>
    pod === undefined ? undefined : { node, pod, silently: pick.chance(0.5) },
  "sandbox-not-ready": (_, { node, pod }) => (pod === undefined ? undefined : { node, pod }),
  "pull-fault": (pick, { node }) => ({ node, image: pick.one(["nginx", "busybox"]), how: pick.one(PULL_FAULTS) }),
  "runtime-stop": (_, { node }) => ({ node }),
  "repeat-events": (pick, { node }) => ({ node, ...(pick.chance(0.5) ? { count: pick.number(1, 5) } : {}) }),
  "drop-events": (pick, { node }) => ({ node, ...(pick.chance(0.5) ? { count: pick.number(1, 5) } : {}) }),
  "api-fault": (pick, { node }) => ({ ...requests(pick, node), ...apiAnswer(pick), ...count(pick) }),
  "watch-fault": (pick, { node }) => ({ ...requests(pick, node), how: pick.one(WATCH_FAULTS) }),
  partition: (pick, { node }) => ({ node, how: pick.one(["drop", "refuse"]) }),
  "slow-storage": (pick) => ({ delayMs: pick.one([100, 1_000, 3_000, 10_000]) }),
  "apiserver-restart": (pick) => ({ seconds: pick.number(1, 90) }),
  "clock-skew": (pick, { node }) => ({
    node,
    ...(pick.chance(0.3)
      ? { gainsPerHour: pick.one([-600, -36, 36, 600]) }
      : { seconds: pick.one([-3_600, -90, -5, 5, 90, 3_600]) }),
  }),
  "disk-fault": (pick, { node }) => ({
    node,
    ...(pick.chance(0.5) ? { readOnly: true } : { delayMs: pick.one([500, 5_000, 60_000]) }),
  }),
  "disk-full": (_, { node, pod }) => (pod === undefined ? undefined : { node, pod }),
  "certificate-expired": (_, { node }) => ({ node }),
  "tls-fault": (pick) => ({ how: pick.one(TLS_FAULTS) }),
  "stream-cut": () => ({}),
  "stream-stall": () => ({}),
  "dns-fault": (pick) => ({ how: pick.one(DNS_FAULTS) }),
  "pod-network-fault": (pick, { node }) => ({
    node,
    ...(pick.chance(0.7) ? { how: pick.one(NETWORK_CUTS) } : { delayMs: 500 }),
  }),
};

function runtimeAnswer(pick: Pick): Arguments {
  const kind = pick.number(0, 3);
  if (kind === 3) return { answer: pick.one(WRONG_ANSWERS) };
  if (kind === 0) return { hangs: true };
  return kind === 1 ? { delayMs: pick.one([500, 5_000, 60_000, 200_000]) } : { code: pick.one(GRPC) };
}

function apiAnswer(pick: Pick): Arguments {
  const kind = pick.number(0, 3);
  if (kind === 0) return { drops: true };
  if (kind === 1) return { delayMs: pick.one([500, 5_000, 30_000]) };
  return { code: pick.one(STATUS), ...(pick.chance(0.3) ? { retryAfterSeconds: pick.number(1, 20) } : {}) };
}

function count(pick: Pick): Arguments {
  return pick.chance(0.4) ? { count: pick.number(1, 4) } : {};
}

function requests(pick: Pick, node: string): Arguments {
  const verb = pick.one(VERBS);
  const resource = pick.one(RESOURCES);
  return { node, ...(verb === "*" ? {} : { verb }), ...(resource === "*" ? {} : { resource }) };
}

/** A scenario of random objects and faults that end, for these invariants. The same randomness makes the same scenario. */
export function randomScenario(random: Random, invariants: readonly InvariantName[]): Scenario {
  const pick = new Pick(random);
  const shapes = pick.some(SHAPES, pick.number(1, 3));
  const nodes = pick.number(1, 3);
  const pods = shapes.flatMap((shape) => shape.pods);
  const faults = Array.from({ length: pick.number(1, MOST_FAULTS) }, () => randomFault(pick, nodes, pods));
  return {
    title: "A random scenario",
    nodes,
    objects: shapes.flatMap(({ objects }) => objects),
    do: faults.sort((one, other) => startOf(one) - startOf(other)),
    expect: [],
    invariants: [...invariants],
  };
}

function startOf({ when }: Fault): number {
  return typeof when === "string" ? 0 : when.at;
}

function randomFault(pick: Pick, nodes: number, pods: readonly string[]): Fault {
  const names = Object.keys(ARGUMENTS);
  for (;;) {
    const fault = names[pick.number(0, names.length - 1)] ?? "node-stop";
    const node = `node-${pick.number(1, nodes)}`;
    const pod = pods[pick.number(0, Math.max(0, pods.length - 1))];
    const args = ARGUMENTS[fault]?.(pick, { node, pod });
    const lengthMs = pick.number(1, pick.one([10, 60, MOST_SECONDS])) * 1000;
    const at = pick.number(0, FAULTS_SECONDS) * 1000;
    if (args === undefined) continue;
    const ends = FAULTS[fault]?.undo === undefined || (args["seconds"] !== undefined && fault === "apiserver-restart");
    return { when: { at }, fault, with: args, ...(ends ? {} : { for: lengthMs }) };
  }
}

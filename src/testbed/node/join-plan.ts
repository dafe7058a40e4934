import assert from "node:assert/strict";
import { join } from "node:path";
import { checkNodeName } from "../../kubelet/certificate/node-identity.js";
import { checkResources, type NodeResources } from "../../kubelet/nodestatus/resources.js";
import type { Taint } from "../../staging/apimachinery/api/node.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { parseCaCertHash } from "../../staging/cluster-bootstrap/discovery.js";
import { type BootstrapToken, formatToken, parseToken } from "../../staging/cluster-bootstrap/token.js";
import { publicKeyHash } from "../../staging/pki/authority.js";
import { LabError } from "../../util/errors.js";
import { pathFrom } from "../../util/os/paths.js";
import { withoutEnding } from "../../util/text/linear-text.js";
import type { ProgramEdge } from "../context.js";
import { stateFolder } from "../target/state-folder.js";
import type { TargetOptions } from "../target/target.js";

/** The place where a join is requested. */
export interface JoinDefaults {
  /** folder of the nodes without their own */
  readonly home: string;
  /** that paths are relative to */
  readonly cwd: string;
  /** there is a terminal for questions */
  readonly canAsk: boolean;
  /** for every node that joins from here; default: none */
  readonly taints?: readonly Taint[];
}

/** The folder of nodes is `$KUBELAB_NODES` (a lab has its own) or `nodes` in the state folder. */
export function joinDefaults({ env, cwd, streams }: Pick<ProgramEdge, "env" | "cwd" | "streams">): JoinDefaults {
  return {
    home: env["KUBELAB_NODES"] || join(stateFolder(env), "nodes"),
    cwd,
    canAsk: streams.stdin.isTTY === true && streams.stderr.isTTY === true,
    // Nodes that a lab adds to the learner's own cluster must not attract other pods.
    ...((env["KUBELAB_LAB_KUBECONFIG"] ?? "") === "" ? {} : { taints: [LAB_TAINT] }),
  };
}

export type Approval = "auto" | "ask" | "manual";

/** The flags of everything that joins a node. */
export interface JoinOptions extends TargetOptions {
  readonly node: string;
  readonly dir?: string;
  /** the same under the name that `kubelab csr` uses */
  readonly outDir?: string;
  readonly server?: string;
  readonly token?: string;
  readonly caCertHash?: readonly string[];
  /** a kubeconfig whose user may ask for a certificate: its path, and once it is loaded its content */
  readonly bootstrapKubeconfig?: string | RestConfig;
  readonly insecureSkipTlsVerify?: boolean;
  readonly approve: Approval;
  /** ms */
  readonly timeout: number;
  readonly force?: boolean;
  /** ms */
  readonly certDuration?: number;
  readonly cpu: string;
  readonly memory: string;
  readonly pods: string;
  readonly disk?: string;
  readonly jitter?: boolean;
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly registerWithTaints?: readonly Taint[];
}

/** The address of the API server that the node will join, if it is already known. */
export function serverOf({ discovery }: JoinPlan, target: { readonly admin: RestConfig } | undefined): string {
  if (discovery.kind !== "by-target") return discovery.server;
  assert(target !== undefined, "a plan without --server has a target");
  return target.admin.server;
}

/** The checked options, which cannot cause a usage error any more. */
export interface JoinPlan {
  readonly nodeName: string;
  readonly folder: string;
  readonly resources: NodeResources;
  /** undefined: the administrator makes one */
  readonly token: BootstrapToken | undefined;
  /** how the node finds the cluster: by itself, by a bootstrap kubeconfig, or through the administrator's identity of the target */
  readonly discovery:
    | { readonly kind: "by-hash"; readonly server: string; readonly caCertHashes: readonly string[] }
    | { readonly kind: "unverified"; readonly server: string }
    | { readonly kind: "by-kubeconfig"; readonly server: string; readonly config: RestConfig }
    | { readonly kind: "by-target" };
  readonly approval: Approval;
  readonly timeoutMs: number;
  readonly force: boolean;
  readonly expirationSeconds: number | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly jitter: boolean;
  /** every question is answered with yes */
  readonly yes: boolean;
  /** takes the name even from a Node that is Ready; default: refuses */
  readonly takesOver?: boolean;
  /** labels to register with, in addition to the default ones; default: none. An existing Node keeps its labels. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
}

/** The taints of a lab's nodes on a cluster in use, so that the cluster's own pods are not scheduled to them. */
export const LAB_TAINT: Taint = { key: "kubelab/lab", value: "own", effect: "NoSchedule" };

const MIN_CERT_DURATION_MS = 600_000;

/**
 * Checks the flags before the command touches a folder or asks a question.
 * @param place.home where nodes' folders are kept when no --dir is given
 * @throws LabError USAGE
 */
export function planJoin(options: JoinOptions, place: JoinDefaults): JoinPlan {
  const nodeName = checkNodeName(options.node);
  const discovery = planDiscovery(options);
  if (options.server !== undefined && options.token === undefined) {
    throw usage("--server needs --token: without it the cluster has no reason to listen", JOIN_HINT);
  }
  if (discovery.kind !== "by-target" && options.approve === "ask") {
    throw usage(
      "--approve ask needs an administrator, and here there is only the node's token",
      "Use --approve auto or manual, or join with an administrator's --kubeconfig.",
    );
  }
  if (options.approve === "ask" && options.yes !== true && !place.canAsk) {
    throw usage("--approve ask needs a terminal to ask on", "Use --approve auto or manual.");
  }
  const { certDuration, dir: folder = options.outDir } = options;
  if (certDuration !== undefined && certDuration < MIN_CERT_DURATION_MS) {
    throw usage(
      "--cert-duration is less than 10 minutes",
      "The API server takes expirationSeconds of 600 and more: 10m.",
    );
  }
  return {
    nodeName,
    folder: folder === undefined ? join(place.home, nodeName) : pathFrom(place.cwd, folder),
    resources: checkResources(options),
    token: options.token === undefined ? undefined : parseToken(options.token),
    discovery,
    approval: options.approve,
    timeoutMs: options.timeout,
    force: options.force === true,
    expirationSeconds: certDuration === undefined ? undefined : Math.floor(certDuration / 1000),
    insecureSkipTlsVerify: options.insecureSkipTlsVerify === true,
    jitter: options.jitter === true,
    yes: options.yes === true,
    labels: options.nodeLabels ?? {},
    taints: [...(place.taints ?? []), ...(options.registerWithTaints ?? [])],
  };
}

/** The command that joins a node to this cluster with the token. */
export function joinCommandFor({ server, caPem }: RestConfig, token: BootstrapToken): string {
  const hash = caPem === undefined ? "" : ` --ca-cert-hash ${publicKeyHash(caPem)}`;
  return `kubelab bootstrap --server ${server} --token ${formatToken(token)}${hash}`;
}

const JOIN_HINT = "`kubelab token create --print-join-command` prints the whole command.";

/** Flags that choose a cluster another way, or are for embedded ones. */
const OF_A_KNOWN_CLUSTER = ["kubeconfig", "context", "real", "mock", "cluster", "speed"] as const;

function planDiscovery(options: JoinOptions): JoinPlan["discovery"] {
  const { server, caCertHash = [], bootstrapKubeconfig: config } = options;
  if (typeof config === "object") {
    refuseOthers(options, "--bootstrap-kubeconfig", ["server", "token", ...OF_A_KNOWN_CLUSTER]);
    return { kind: "by-kubeconfig", server: config.server, config };
  }
  if (server === undefined) {
    if (caCertHash.length > 0) throw usage("--ca-cert-hash is for --server", JOIN_HINT);
    return { kind: "by-target" };
  }
  refuseOthers(options, "--server", OF_A_KNOWN_CLUSTER);
  const address = serverAddress(server);
  if (options.insecureSkipTlsVerify === true && caCertHash.length > 0) {
    throw usage(
      "--insecure-skip-tls-verify and --ca-cert-hash contradict each other",
      "Leave out --insecure-skip-tls-verify: with the hash the cluster can be verified.",
    );
  }
  if (options.insecureSkipTlsVerify === true) return { kind: "unverified", server: address };
  if (caCertHash.length > 0) {
    return { kind: "by-hash", server: address, caCertHashes: caCertHash.map(parseCaCertHash) };
  }
  throw usage("--server needs --ca-cert-hash: without it, the token could go to another server", JOIN_HINT);
}

/** @throws LabError USAGE for a flag that names a cluster in another way than `flag` */
function refuseOthers(options: JoinOptions, flag: string, others: readonly (keyof JoinOptions)[]): void {
  const key = others.find((one) => options[one] !== undefined);
  if (key === undefined) return;
  const other = key === "kubeVersion" ? "--kube-version" : `--${key}`;
  const why =
    key === "kubeconfig" && flag !== "--server"
      ? "the node's own kubeconfig is written to its folder (--dir, of `kubelab node` --root-dir)."
      : `with ${flag}, only the address of the cluster is known.`;
  throw usage(`${flag} and ${other} contradict each other`, `Leave out ${other}: ${why}`);
}

/** `host:port`, as kubeadm has it, or a URL. */
function serverAddress(text: string): string {
  const url = text.includes("://") ? text : `https://${text}`;
  if (URL.canParse(url) && url.startsWith("https://")) return withoutEnding(url, "/");
  throw usage(`--server ${JSON.stringify(text)} is not the address of an API server`, "Write it as https://HOST:PORT.");
}

function usage(message: string, hint: string): LabError {
  return new LabError("USAGE", message, hint);
}

/** The resources that a node reports when no flag sets them. */
export const DEFAULT_RESOURCES: NodeResources = { cpu: "100", memory: "32Gi", pods: "110" };
/** How long a node waits for its certificate, on the cluster's clock, which may run fast. */
export const JOIN_TIMEOUT_MS = 3_600_000;

/**
 * The plan of a node that starts with its cluster and joins without questions.
 * @param folder of its key, certificate and kubeconfig
 * @param token undefined: a new one
 */
export function planUnasked(
  nodeName: string,
  folder: string,
  token: BootstrapToken | undefined,
  labels: Readonly<Record<string, string>> = {},
): JoinPlan {
  return {
    nodeName,
    folder,
    token,
    resources: DEFAULT_RESOURCES,
    discovery: { kind: "by-target" },
    approval: "auto",
    timeoutMs: JOIN_TIMEOUT_MS,
    force: false,
    expirationSeconds: undefined,
    insecureSkipTlsVerify: false,
    jitter: true,
    labels,
    yes: true,
    // The names belong to the cluster, so a Node in a kept store belonged to a process that has ended.
    takesOver: true,
  };
}

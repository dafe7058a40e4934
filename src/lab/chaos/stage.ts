import { join } from "node:path";
import { ServerFaults } from "../../cluster/apiserver/endpoints/faults/server-faults.js";
import { DnsFaults } from "../../cluster/dns/dns-faults.js";
import type { KubeletHooks } from "../../kubelet/app/kubelet.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import type { BootstrapToken } from "../../staging/cluster-bootstrap/token.js";
import type { NodeContext } from "../../testbed/context.js";
import { startEmbeddedControlPlane } from "../../testbed/target/embedded-control-plane.js";
import type { Target } from "../../testbed/target/target.js";
import type { TraceEvent } from "../../trace/events.js";
import type { Disposables } from "../../util/async/disposables.js";
import type { Clock, SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { makeUniqueFolder, removeOwn } from "../../util/os/temporary-folder.js";
import type { SeededRandom } from "../../util/seeded-random.js";
import { ApiServerPod } from "../labs/environment/api-server-pod.js";
import { LabFacts } from "../labs/environment/facts.js";
import { contextOf, LabNodes, type LabNodesOptions } from "../labs/environment/nodes.js";
import { labFolderPrefix } from "../labs/environment/orphaned-processes.js";
import { Guard } from "./guard.js";
import type { RealParts } from "./real/check.js";
import { hasServices, type Scenario } from "./scenario.js";
import type { Judgement } from "./verdict.js";

const KUBE_VERSION = "1.25";

/** The cluster of a scenario, in this process unless its parts are real. Embedded, its time stands still. */
export interface Stage {
  readonly clock: SystemClock;
  readonly random: SeededRandom;
  readonly facts: LabFacts;
  readonly nodes: LabNodes;
  readonly faults: ServerFaults;
  readonly dnsFaults: DnsFaults;
  /** undefined unless the scenario restarts it: its state is on disk, which takes longer */
  readonly apiServer: ApiServerPod | undefined;
  /** the administrator's; its requests are in no trace */
  readonly client: KubeClient;
  /** undefined without invariants */
  readonly guard: Guard | undefined;
}

/** What a run replaces, and what it does after its scenario. */
export interface RunParts {
  /** of each kubelet; default: none */
  readonly hooks?: KubeletHooks;
  /** makes the token with which the nodes join, as the administrator; default: one for each */
  readonly joinToken?: (client: KubeClient, nowMs: number) => Promise<BootstrapToken>;
  /** tried once the scenario is over, in the cluster's time; @returns further judgements */
  readonly after?: (stage: Stage, signal: AbortSignal) => Promise<readonly Judgement[]>;
}

/** What a run gets from its process. */
export interface RunDeps {
  readonly context: NodeContext;
  readonly random: SeededRandom;
  /** called once the control plane runs; its time stands still meanwhile. Default: nothing is replaced */
  readonly parts?: () => Promise<RunParts>;
  /** default: none, in virtual time */
  readonly real?: RealParts;
  /** called with each fact of the cluster */
  readonly onFact?: (event: TraceEvent) => void;
}

/** Starts the control plane, or opens the way to a foreign one. @param open closes it */
export async function openControlPlane(
  { random, onFact, real = {} }: RunDeps,
  clock: SystemClock,
  scenario: Scenario,
  open: Disposables,
) {
  const facts = new LabFacts(clock);
  const trace = facts.openTrace();
  if (onFact !== undefined) facts.passTo({ level: facts.level, write: onFact });
  const folder = await makeUniqueFolder(labFolderPrefix());
  open.defer(() => removeOwn(folder));
  const faults = new ServerFaults();
  const dnsFaults = new DnsFaults();
  const settings = { clock, random, trace, kubeVersion: KUBE_VERSION, verifyKubelets: false, faults, dnsFaults };
  const foreign = real.cluster;
  if (foreign !== undefined) {
    const { openForeignCluster } = await import("./real/foreign-cluster.js");
    const opened = await openForeignCluster({ clock, random, trace, faults }, foreign, scenario, folder, open);
    const client = createClient(foreign.cluster.config, { clock, random, trace: facts.reads, actor: "user" });
    open.defer(() => client.close());
    return {
      clock,
      random,
      facts,
      folder,
      faults,
      dnsFaults,
      apiServer: undefined,
      plane: undefined,
      target: targetOf("real", opened),
      client,
    };
  }
  const isRestarted = scenario.do.some(({ fault }) => fault === "apiserver-restart");
  const apiServer = isRestarted ? await ApiServerPod.open(settings, join(folder, "etcd")) : undefined;
  const plane = apiServer?.first ?? (await startEmbeddedControlPlane(settings));
  open.defer(() => apiServer?.[Symbol.asyncDispose]() ?? plane.close());
  // Its requests are made while the time stands still, so they take no turns.
  const unheld: Clock = { now: () => clock.now(), sleep: clock.sleep.bind(clock), timer: clock.timer.bind(clock) };
  const client = createClient(plane.admin, { clock: unheld, random, trace: facts.reads, actor: "user" });
  open.defer(() => client.close());
  open.defer(async () => faults.writes.set(0));
  const target = targetOf("joined", { admin: plane.admin, description: "the scenario's cluster" });
  return { clock, random, facts, folder, faults, dnsFaults, apiServer, plane, target, client };
}

function targetOf(
  kind: Target["kind"],
  { kubeVersion = KUBE_VERSION, ...parts }: Pick<Target, "admin" | "description"> & { readonly kubeVersion?: string },
): Target {
  const close = async () => {};
  return { kind, ...parts, kubeVersion, close, [Symbol.asyncDispose]: close };
}

/** Starts the nodes. @param open closes them */
export async function openNodes(
  { context, real = {} }: RunDeps,
  { folder, plane, target, ...shared }: Awaited<ReturnType<typeof openControlPlane>>,
  { hooks, joinToken }: RunParts,
  scenario: Scenario,
  open: Disposables,
): Promise<Stage> {
  const { clock, random, facts, client, apiServer } = shared;
  const token = await joinToken?.(client, clock.now());
  const nodes = await LabNodes.open(
    { context: contextOf(context, random, context.signal), clock, facts },
    {
      count: scenario.nodes,
      prefix: "node-",
      folder,
      target,
      settings: { verbosity: 1, pullMs: 400, kubeProxy: hasServices(scenario), link: true },
      runtimesHere: true,
      ...defined({ hooks, token, openRuntime: runtimeOpener(real, clock, context.signal) }),
    },
  );
  open.defer(() => nodes[Symbol.asyncDispose]());
  const guard = scenario.invariants.length === 0 ? undefined : new Guard(scenario.invariants, clock, facts.reads);
  if (guard !== undefined) {
    open.defer(async () => guard[Symbol.dispose]());
    guard.follow(plane);
    if (apiServer !== undefined) apiServer.onChange = (current) => guard.follow(current);
    for (const { name, runtime } of nodes.all) guard.followRuntime(name, runtime.control);
  }
  return { ...shared, nodes, guard };
}

/** Opens a proxy before the runtime that was named. */
function runtimeOpener({ cri }: RealParts, clock: Clock, signal: AbortSignal): LabNodesOptions["openRuntime"] {
  if (cri === undefined) return undefined;
  return async (trace, folder) => {
    const { openCriProxy } = await import("./real/cri-proxy.js");
    return openCriProxy({ clock, trace, signal }, cri, folder);
  };
}

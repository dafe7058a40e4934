import { join } from "node:path";
import { ServerFaults } from "../../../cluster/apiserver/endpoints/faults/server-faults.js";
import type { ControlPlaneOptions } from "../../../cluster/control-plane/control-plane.js";
import { DnsFaults } from "../../../cluster/dns/dns-faults.js";
import type { RestConfig } from "../../../staging/client-go/rest/client.js";
import { createClient } from "../../../staging/client-go/rest/create-client.js";
import { writeClusterFiles } from "../../../testbed/cluster/cluster.js";
import {
  type ClusterState,
  clusterKubeconfig,
  removeClusterState,
  writeClusterState,
} from "../../../testbed/target/cluster-state.js";
import { startEmbeddedControlPlane } from "../../../testbed/target/embedded-control-plane.js";
import type { Target } from "../../../testbed/target/target.js";
import { serveClock } from "../../../testbed/time/serve-clock.js";
import { Disposables } from "../../../util/async/disposables.js";
import { SystemClock } from "../../../util/clock.js";
import { messageOf } from "../../../util/errors.js";
import { makeUniqueFolder } from "../../../util/os/temporary-folder.js";
import type { LabDefinition } from "../format/schema.js";
import type { ApiServerPod } from "./api-server-pod.js";
import type { LabProcess } from "./context.js";
import type { LabEnvironment } from "./environment.js";
import { LabFacts } from "./facts.js";
import { makeEnvironment, type Reader } from "./make-environment.js";
import { LabNodes } from "./nodes.js";
import { endLabFolder, labFolderPrefix } from "./orphaned-processes.js";
import { startsBehindMs } from "./speed.js";

export interface EmbeddedEnvironmentOptions extends Reader {
  /** name of the running cluster for `kubelab --cluster` */
  readonly clusterName: string;
  /** the claim of that name; released with the environment */
  readonly lock?: AsyncDisposable;
  readonly speed: number;
  /** release and nodes of the cluster */
  readonly definition: Pick<
    LabDefinition,
    "kubeVersion" | "minutes" | "nodes" | "nodeOptions" | "verifyKubelets" | "apiServerPod"
  >;
  /** use the built-in kubectl even if one is installed */
  readonly withoutKubectl?: boolean;
  /** see LabEnvironment; default 0 */
  readonly patienceMs?: number;
}

/**
 * Starts a cluster for one lab in this process: control plane, nodes, a folder. Other processes find it like any
 * `kubelab cluster up`.
 */
export async function openEmbeddedEnvironment(
  context: LabProcess,
  options: EmbeddedEnvironmentOptions,
): Promise<LabEnvironment> {
  const { clusterName, speed, definition } = options;
  const { kubeVersion, verifyKubelets } = definition;
  const open = new Disposables();
  const close = () => open.close();
  open.defer(async () => options.lock?.[Symbol.asyncDispose]());
  try {
    const clock = new SystemClock(speed, startsBehindMs(definition.minutes, speed));
    const facts = new LabFacts(clock);
    const trace = facts.openTrace();
    const folder = await makeUniqueFolder(labFolderPrefix());
    open.defer(() => endLabFolder(folder));
    const faults = new ServerFaults();
    const dnsFaults = new DnsFaults();
    const settings = { clock, random: context.random, trace, kubeVersion, verifyKubelets, faults, dnsFaults };
    const apiServerPod = definition.apiServerPod ? await openApiServerPod(settings, folder) : undefined;
    open.defer(async () => apiServerPod?.[Symbol.asyncDispose]());
    const controlPlane = apiServerPod?.first ?? (await startEmbeddedControlPlane(settings));
    if (apiServerPod === undefined) open.defer(() => controlPlane.close());
    const kubeconfig = clusterKubeconfig(context.env, clusterName);
    const stop = new AbortController();
    let isKnown = false;
    const onMoved = async () => {
      if (isKnown) await writeClusterState(context.env, state());
    };
    const held = await serveClock({ clock, random: context.random, trace }, controlPlane.admin, onMoved, stop.signal);
    open.defer(async () => held[Symbol.asyncDispose]());
    open.defer(async () => stop.abort());
    const place = { url: controlPlane.url, kubeconfig, timeSocket: held.socket };
    const state = () => stateOf(options, { ...place, clock: clock.reading, speed: clock.speed });
    const target = targetOf(controlPlane.admin, clusterName, kubeVersion);
    const nodes = await LabNodes.open(
      { context, clock, facts },
      { count: definition.nodes, prefix: "node-", folder, target, settings: definition.nodeOptions },
    );
    open.defer(() => nodes[Symbol.asyncDispose]());
    if (apiServerPod !== undefined) {
      const { control } = nodes.machine(API_SERVER_NODE).runtime;
      const onFailure = (error: unknown) =>
        trace.emit({ kind: "error", message: messageOf(error) }, { actor: "apiserver", level: 0 });
      apiServerPod.follow(API_SERVER_NODE, (signal) => control.changes(signal), onFailure);
    }
    await writeClusterFiles(context.env, state(), controlPlane.admin);
    isKnown = true;
    open.defer(async () => {
      isKnown = false;
      await removeClusterState(context.env, clusterName);
    });
    const client = createClient(controlPlane.admin, {
      clock,
      trace: facts.reads,
      random: context.random,
      actor: "user",
    });
    open.defer(() => client.close());
    const setSpeed = async (factor: number) => {
      clock.setSpeed(factor);
      await onMoved();
    };
    const parts = {
      folder,
      server: controlPlane.url,
      kubeconfig,
      kubeVersion,
      client,
      clock,
      nodes,
      facts,
      ...{ faults, dnsFaults },
      apiServer: apiServerPod,
      seesWrites: true,
      // The scheduler has only the lab's nodes to choose from.
      onNode: "",
      variables: { KUBELAB_CLUSTER: clusterName },
      withoutKubectl: options.withoutKubectl === true,
      patienceMs: options.patienceMs ?? 0,
      canSetSpeed: true,
      setSpeed,
      close,
    };
    return await makeEnvironment(context, parts, options);
  } catch (error) {
    await close();
    throw error;
  }
}

/** The node that runs the API server as a static pod. */
const API_SERVER_NODE = "node-1";

async function openApiServerPod(options: ControlPlaneOptions, folder: string): Promise<ApiServerPod> {
  const { ApiServerPod } = await import("./api-server-pod.js");
  const pod = await ApiServerPod.open(options, join(folder, "etcd"));
  await pod.writeManifest(join(folder, API_SERVER_NODE, "manifests"));
  return pod;
}

function stateOf(
  { clusterName, definition: { kubeVersion, nodes, verifyKubelets } }: EmbeddedEnvironmentOptions,
  place: Pick<ClusterState, "url" | "kubeconfig" | "clock" | "speed" | "timeSocket">,
): ClusterState {
  const own = { version: 1, name: clusterName, isLab: true, pid: process.pid } as const;
  return { ...own, kubeVersion, nodes, verifyKubelets, ...place };
}

function targetOf(admin: RestConfig, clusterName: string, kubeVersion: string): Target {
  const close = async () => {};
  const description = `cluster ${clusterName}`;
  return { kind: "joined", admin, description, kubeVersion, close, [Symbol.asyncDispose]: close };
}

import type { HostedRuntime } from "../../cluster/runtime/host/host.js";
import type { StreamClient } from "../../staging/client-go/transport/fallback.js";
import type { ProgressReporter } from "../../testbed/context.js";
import { NODE_NAME, RequestTrace } from "../../testbed/fixtures/request-trace.js";
import type { Readiness, SampleNode, SampleNodeSession } from "../../testbed/fixtures/sample-node.js";
import { SAMPLE_PODS } from "../../testbed/fixtures/sample-pods.js";
import type { Target, TargetOptions } from "../../testbed/target/target.js";
import type { Trace } from "../../trace/trace.js";
import { traceOfNode } from "../../trace/view.js";
import { Disposables } from "../../util/async/disposables.js";
import type { Clock } from "../../util/clock.js";
import type { CliContext } from "../cli/context.js";
import { tellHops } from "./hops.js";
import type { PodName } from "./pod.js";

/** A cluster with the requested pod, if the command can start it. */
export interface StreamEnvironment extends AsyncDisposable {
  readonly client: StreamClient;
  /** the hint if the pod is unknown */
  readonly unknownPodHint: string;
  /** the API server's release; undefined for a real one, whose release is unknown */
  readonly kubeVersion: string | undefined;
  /** this command has started the pod's containers; the pod's status may show it a moment later */
  readonly isPodStarted: boolean;
}

/**
 * Opens the cluster. Leaves a joined or real cluster as it is. In an embedded one, which is empty, starts a node with the
 * pod if it is a sample pod.
 * @throws LabError as `openTarget`; TIMED_OUT if the pod does not start
 */
export async function openStreamEnvironment(
  context: CliContext,
  command: string,
  options: TargetOptions,
  pod: PodName,
  readiness: Readiness = "started",
): Promise<StreamEnvironment> {
  let story: RequestTrace | undefined;
  let hosting: Promise<HostedRuntime> | undefined;
  let telling: Disposable | undefined;
  const opened = new Disposables();
  // At the end, because the servers report the end of the connection while they close.
  opened.defer(async () => telling?.[Symbol.dispose]());
  try {
    const isSimulated = pod.namespace === "default" && SAMPLE_PODS.has(pod.name);
    const target = await context.openTarget(command, options, (trace, clock) => {
      story = new RequestTrace(trace);
      // Its process starts while this one starts the control plane.
      if (isSimulated) hosting = hostPodRuntime(story.trace, clock, opened);
      return story.trace;
    });
    // The runtime's process ends while the control plane closes.
    opened.defer(async () => {
      const runtime = await hosting?.catch(() => undefined);
      await Promise.all([target.close(), runtime?.close()]);
    });
    const { clock, trace } = context.session({});
    if (story !== undefined && hosting !== undefined) {
      const node = await startSamplePod({ context, clock, story }, target, pod.name, readiness, hosting);
      opened.defer(() => node.close());
    }
    telling = tellHops(trace);
    const client = { config: target.admin, clock, random: context.random, trace, story };
    if (story === undefined) noteRemoteServers(trace, target);
    const kubeVersion = target.kind === "real" ? undefined : target.kubeVersion;
    const isPodStarted = hosting !== undefined;
    const close = () => opened.close();
    return { client, unknownPodHint: unknownPodHint(target), kubeVersion, isPodStarted, [Symbol.asyncDispose]: close };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Starts a runtime whose pulls take no time; `opened` closes it. @throws LabError as `hostRuntime` */
function hostPodRuntime(trace: Trace, clock: Clock, opened: Disposables): Promise<HostedRuntime> {
  const hosting = import("../../cluster/runtime/host/host.js").then(({ hostRuntime }) =>
    hostRuntime({ clock, trace: traceOfNode(trace, NODE_NAME), traceLevel: 2, pullMs: 0 }),
  );
  const settled = hosting.catch(() => undefined);
  opened.defer(async () => (await settled)?.close());
  return hosting;
}

/** The servers of another process report their hops there. */
function noteRemoteServers(trace: Trace, { kind, isLab = false }: Target): void {
  const where = kind === "joined" ? "`kubelab cluster up -v 3` shows their steps" : "their logs show their steps";
  const text = isLab
    ? "API server, kubelet and runtime belong to the lab, whose trace shows their steps; this is the client's view."
    : `API server, kubelet and runtime run elsewhere: ${where}; this is the client's view.`;
  trace.emit({ kind: "note", text }, { actor: "user" });
}

/** Loads the node on demand: a command on a running cluster needs no kubelet. */
async function startSamplePod(
  session: SampleNodeSession & { readonly context: ProgressReporter },
  target: Target,
  podName: string,
  readiness: Readiness,
  startingRuntime: Promise<HostedRuntime>,
): Promise<SampleNode> {
  using _line = session.context.progress(`starting a node, and the pod ${podName} on it`);
  const { startSampleNode } = await import("../../testbed/fixtures/sample-node.js");
  return await startSampleNode(session, target, [podName], readiness, { startingRuntime });
}

function unknownPodHint({ kind, kubeconfigPath }: Target): string {
  const names = [...SAMPLE_PODS.keys()].join(" and ");
  if (kind === "embedded") {
    return `A cluster that this command starts has only the pods ${names}, in the namespace default.`;
  }
  const kubectl = kubeconfigPath === undefined ? "kubectl" : `kubectl --kubeconfig ${kubeconfigPath}`;
  if (kind === "real") return `See which pods there are: ${kubectl} get pods -A`;
  return `See which pods there are: ${kubectl} get pods -A. Or create it: ${kubectl} run nettool --image nettool`;
}

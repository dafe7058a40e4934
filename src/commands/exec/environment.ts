import type { CliContext } from "../../cli/context.js";
import type { ProgressReporter } from "../../testbed/context.js";
import { RequestTrace } from "../../testbed/request-trace.js";
import type { Readiness, SampleNode, SampleNodeSession } from "../../testbed/sample-node.js";
import { SAMPLE_PODS } from "../../testbed/sample-pods.js";
import type { Target, TargetOptions } from "../../testbed/target.js";
import type { Trace } from "../../trace/trace.js";
import type { StreamClient } from "./connect.js";
import type { PodName } from "./pod.js";

/** A cluster with the pod that is asked for, as far as this command can bring it there. */
export interface StreamEnvironment extends AsyncDisposable {
  readonly client: StreamClient;
  /** what to do when the pod is unknown */
  readonly unknownPodHint: string;
  /** that the API server behaves like; undefined: a real one, which was not asked */
  readonly kubeVersion: string | undefined;
  /** this command has seen the pod's containers start: a moment later than that the pod's status says so too */
  readonly isPodStarted: boolean;
}

/**
 * Opens the cluster. One that is joined or real is taken as it is; in an embedded one, which nobody else has put anything
 * into, a node is started and the pod, when it is one of those that are known by name.
 * @throws LabError as `openTarget`; TIMED_OUT when the pod does not start
 */
export async function openStreamEnvironment(
  context: CliContext,
  command: string,
  options: TargetOptions,
  pod: PodName,
  readiness: Readiness = "started",
): Promise<StreamEnvironment> {
  let story: RequestTrace | undefined;
  const target = await context.openTarget(command, options, (trace, clock) => {
    story = new RequestTrace(trace, clock);
    return story.trace;
  });
  try {
    const { clock, trace } = context.session({});
    const isSimulated = pod.namespace === "default" && SAMPLE_PODS.has(pod.name);
    const node =
      story !== undefined && isSimulated
        ? await startSamplePod(context, { context, clock, story }, target, pod.name, readiness)
        : undefined;
    const client = { config: target.admin, clock, random: context.random, trace, story };
    const close = async () => {
      await node?.close();
      await target.close();
    };
    if (story === undefined) tellElsewhere(trace, target);
    const kubeVersion = target.kind === "real" ? undefined : target.kubeVersion;
    const isPodStarted = node !== undefined;
    return { client, unknownPodHint: unknownPodHint(target), kubeVersion, isPodStarted, [Symbol.asyncDispose]: close };
  } catch (error) {
    await target.close();
    throw error;
  }
}

/** A request says nothing of the hops behind the server that took it: only who runs them can tell. */
function tellElsewhere(trace: Trace, { kind }: Target): void {
  const where = kind === "joined" ? "`kubelab cluster up` tells them with -v 3" : "their logs tell them";
  const text = `API server, kubelet and runtime run elsewhere: ${where}; here is what this client sees.`;
  trace.emit({ kind: "note", text }, { actor: "user" });
}

/** Loaded only here: a command on a running cluster needs neither kubelet nor runtime. */
async function startSamplePod(
  reporter: ProgressReporter,
  session: SampleNodeSession,
  target: Target,
  podName: string,
  readiness: Readiness,
): Promise<SampleNode> {
  const progress = reporter.progress(`starting a node, and the pod ${podName} on it`);
  try {
    const { startSampleNode } = await import("../../testbed/sample-node.js");
    return await startSampleNode(session, target, [podName], readiness);
  } finally {
    progress.stop();
  }
}

function unknownPodHint({ kind, kubeconfigPath }: Target): string {
  const names = [...SAMPLE_PODS.keys()].join(" and ");
  if (kind === "embedded") {
    return `A cluster of this command's own has the pods ${names} in the namespace default, and no others.`;
  }
  const kubectl = kubeconfigPath === undefined ? "kubectl" : `kubectl --kubeconfig ${kubeconfigPath}`;
  if (kind === "real") return `See which pods there are: ${kubectl} get pods -A`;
  return `See which pods there are: ${kubectl} get pods -A. Or make it: ${kubectl} run nettool --image nettool`;
}

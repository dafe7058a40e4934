import type { CliContext, Target, TargetOptions } from "../../cli/context.js";
import type { StreamClient } from "./connect.js";
import { PLAYED_PODS } from "./played-pods.js";
import type { PodName } from "./pod.js";
import { Story } from "./story.js";

/** A cluster with the pod that is asked for, as far as this command can bring it there. */
export interface StreamPlace extends AsyncDisposable {
  readonly client: StreamClient;
  /** what to do when the pod is unknown */
  readonly unknownPodHint: string;
}

/** How far a pod must have come: `started`: its containers run; `running`: the kubelet has said so, which logs need. */
export type Readiness = "started" | "running";

/**
 * Opens the cluster. One that is joined or real is taken as it is; in an embedded one, which nobody else has put anything
 * into, a node is started and the pod, when it is one of those that are known by name.
 * @throws LabError as `openTarget`; TIMED_OUT when the pod does not start
 */
export async function openPlace(
  context: CliContext,
  command: string,
  options: TargetOptions,
  pod: PodName,
  readiness: Readiness = "started",
): Promise<StreamPlace> {
  let story: Story | undefined;
  const target = await context.openTarget(command, options, (trace, clock) => {
    story = new Story(trace, clock);
    return story.trace;
  });
  try {
    const { clock, trace } = context.session({});
    const scenery =
      story !== undefined && pod.namespace === "default" && PLAYED_PODS.has(pod.name)
        ? await (await import("./scenery.js")).startScenery({ context, clock, story }, target, [pod.name], readiness)
        : undefined;
    const client = { config: target.admin, clock, random: context.random, trace, story };
    const close = async () => {
      await scenery?.close();
      await target.close();
    };
    return { client, unknownPodHint: unknownPodHint(target), [Symbol.asyncDispose]: close };
  } catch (error) {
    await target.close();
    throw error;
  }
}

function unknownPodHint({ kind, kubeconfigPath }: Target): string {
  const names = [...PLAYED_PODS.keys()].join(" and ");
  if (kind === "embedded") {
    return `A cluster of this command's own has the pods ${names} in the namespace default, and no others.`;
  }
  const kubectl = kubeconfigPath === undefined ? "kubectl" : `kubectl --kubeconfig ${kubeconfigPath}`;
  if (kind === "real") return `See which pods there are: ${kubectl} get pods -A`;
  return `See which pods there are: ${kubectl} get pods -A. Or make it: ${kubectl} run nettool --image nettool`;
}

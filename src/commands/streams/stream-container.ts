import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { execUrl } from "../../staging/client-go/remotecommand/exec-url.js";
import { backendProblem } from "../../staging/client-go/transport/fallback.js";
import type { RemoteCommandOptions } from "../../staging/streaming/remote-command/session.js";
import type { CliContext } from "../cli/context.js";
import { explainContainer } from "./container-hint.js";
import type { StreamEnvironment } from "./environment.js";
import { protocolsOf, type RemoteOptions } from "./options.js";
import { checkNotCompleted, chooseContainer, type PodName, type PodStep, withPod } from "./pod.js";
import { runRemote } from "./remote.js";

/** The differences between exec and attach. */
export interface ContainerStreams extends PodStep {
  readonly subresource: "exec" | "attach";
  readonly words?: readonly string[];
  chooseStreams(pod: V1Pod, container: string): RemoteCommandOptions;
}

/**
 * Connects this process to a command or to the first process of a container, and exits with its exit code. An end without
 * an exit code is reported as an error.
 * @throws LabError if a server on the way is unreachable: since 1.30 an API server reports that inside the stream
 */
export async function streamContainer(
  context: CliContext,
  environment: StreamEnvironment,
  name: PodName,
  options: RemoteOptions,
  streaming: ContainerStreams,
): Promise<void> {
  const { client, kubeVersion, isPodStarted } = environment;
  const { subresource, words } = streaming;
  const { trace } = client;
  const { exitCode, problem, hint } = await withPod(context, environment, name, streaming, async (pod) => {
    checkNotCompleted(pod, subresource);
    const container = chooseContainer(pod, options.container, trace);
    const streams = streaming.chooseStreams(pod, container);
    const path = execUrl({ ...name, subresource, container, words }, streams);
    const protocols = protocolsOf(options.protocol, kubeVersion);
    const request = { path, options: streams, protocols, showsFrames: options.frames === true };
    const run = async (hint: string | undefined) => {
      const end = await runRemote(client, request, context.streams, context.signal);
      return { ...end, hint };
    };
    return explainContainer(pod, container, run, isPodStarted);
  });
  if (problem !== undefined) {
    const unreached = backendProblem("the command", problem);
    if (unreached !== undefined) throw unreached;
    trace.emit({ kind: "error", message: problem }, { actor: "user" });
    if (hint !== undefined) trace.emit({ kind: "note", text: hint }, { actor: "user", level: 0 });
  }
  context.exitWith(exitCode);
}

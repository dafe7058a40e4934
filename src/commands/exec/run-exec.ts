import type { CliContext } from "../../cli/context.js";
import type { RemoteCommandOptions } from "../../streaming/remote-command/session.js";
import type { TargetOptions } from "../../testbed/target.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { backendProblem } from "./connect.js";
import { explainContainer } from "./container-hint.js";
import { openStreamEnvironment, type StreamEnvironment } from "./environment.js";
import { hasTerminal } from "./local-terminal.js";
import { protocolsOf, type RemoteOptions } from "./options.js";
import type { RemoteEnd } from "./outcome.js";
import { checkNotCompleted, chooseContainer, getPod, type PodName, parsePodName, podPath } from "./pod.js";
import { runRemote } from "./remote.js";

const UPSTREAM = { file: "staging/src/k8s.io/kubectl/pkg/cmd/exec/exec.go", func: "Run" };

/** Flags of exec. */
export interface ExecOptions extends RemoteOptions {
  readonly cri?: string;
}

export interface ExecRequest {
  readonly pod: string;
  readonly words: readonly string[];
  readonly options: ExecOptions;
  /** whether --namespace was written: the options have a default of it */
  readonly namesNamespace: boolean;
  readonly target: TargetOptions;
}

/** Opens the environment and runs the command in it; exits as the command does. @throws LabError */
export async function runExec(context: CliContext, request: ExecRequest): Promise<void> {
  const { pod: text, words, options, target } = request;
  if (options.cri !== undefined) return runOnRuntime(context, options.cri, request);
  const name = parsePodName(text, options.namespace);
  await using environment = await openStreamEnvironment(context, "exec", target, name);
  await execIn(context, environment, name, words, options);
}

/** The chain before a runtime of somebody's: `text` names a container there. */
async function runOnRuntime(context: CliContext, endpoint: string, request: ExecRequest): Promise<void> {
  const { pod: text, words, options, namesNamespace, target } = request;
  const refused = ["kubeconfig", "context", "real", "mock", "cluster", "yes", "container"] as const;
  const other = refused.find((key) => options[key] !== undefined) ?? (namesNamespace ? "namespace" : undefined);
  if (other !== undefined) {
    const hint = `Leave out one of them: with --cri this command starts the API server, and CONTAINER names the container.`;
    throw new LabError("USAGE", `--cri and --${other} contradict each other`, hint);
  }
  const { openCriEnvironment } = await import("./cri-environment.js");
  const { kubeVersion, speed } = target;
  await using environment = await openCriEnvironment(context, text, { endpoint, kubeVersion, speed });
  const { pod, container } = environment.found;
  await execIn(context, environment, pod, words, { ...options, container: container.name });
}

/** Runs a command in a pod of an open environment. */
async function execIn(
  context: CliContext,
  environment: StreamEnvironment,
  name: PodName,
  words: readonly string[],
  options: RemoteOptions,
): Promise<void> {
  const { client } = environment;
  const { trace } = client;
  const title = `Run ${JSON.stringify(words.join(" ").slice(0, 60))} in ${name.name}`;
  const end = await trace.chapter("exec", () =>
    trace.step("user", title, { upstream: UPSTREAM }, async () => {
      const pod = await getPod(client, name, environment.unknownPodHint, context.signal);
      checkNotCompleted(pod, "exec into");
      const container = chooseContainer(pod, options.container, trace);
      const streams = streamsOf(context, options, trace);
      const path = `${podPath(name, "exec")}?${streamQuery(container, streams, words)}`;
      const { frames = false, protocol } = options;
      const request = {
        path,
        options: streams,
        protocols: protocolsOf(protocol, environment.kubeVersion),
        showsFrames: frames,
      };
      const run = (hint: string | undefined) =>
        runRemote(client, { ...request, hint }, context.streams, context.signal);
      return explainContainer(pod, container, run, environment.isPodStarted);
    }),
  );
  passOn(context, trace, end);
}

/**
 * The remote command's exit code becomes this one's. What has none is told as a failure.
 * @throws LabError when a server on the way was not reached: since 1.30 an API server says so in the stream itself
 */
export function passOn(context: CliContext, trace: Trace, { exitCode, problem, hint }: RemoteEnd): void {
  const unreached = problem === undefined ? undefined : backendProblem("the command", problem);
  if (unreached !== undefined) throw unreached;
  if (problem !== undefined) trace.emit({ kind: "error", message: problem }, { actor: "user" });
  if (hint !== undefined) trace.emit({ kind: "note", text: hint }, { actor: "user", level: 0 });
  context.exitWith(exitCode);
}

/** Mirrors SetupTTY in k8s.io/kubectl/pkg/cmd/exec/exec.go: without a terminal here there is none there. */
function streamsOf(
  context: CliContext,
  { stdin = false, tty = false }: Pick<RemoteOptions, "stdin" | "tty">,
  trace: Trace,
): RemoteCommandOptions {
  const isTerminal = tty && stdin && hasTerminal(context.streams);
  if (tty && !isTerminal) {
    const why = stdin ? "stdin is no terminal" : "-t needs -i as well: nothing could be typed";
    trace.emit({ kind: "note", text: `No terminal is made: ${why}.` }, { actor: "user", level: 0 });
  }
  return { stdin, stdout: true, stderr: !isTerminal, tty: isTerminal };
}

/** Mirrors PodExecOptions and PodAttachOptions in k8s.io/api/core/v1, in the order in which client-go writes them. */
export function streamQuery(container: string, streams: RemoteCommandOptions, words: readonly string[] = []): string {
  const query = new URLSearchParams();
  for (const word of words) query.append("command", word);
  if (container !== "") query.append("container", container);
  for (const name of ["stderr", "stdin", "stdout", "tty"] as const) if (streams[name]) query.append(name, "true");
  return query.toString();
}

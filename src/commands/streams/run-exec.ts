import type { RemoteCommandOptions } from "../../staging/streaming/remote-command/session.js";
import type { TargetOptions } from "../../testbed/target/target.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import type { CliContext } from "../cli/context.js";
import { hasRawMode } from "../cli/terminal-keys.js";
import { openStreamEnvironment, type StreamEnvironment } from "./environment.js";
import type { RemoteOptions } from "./options.js";
import { type PodName, parsePodName } from "./pod.js";
import { streamContainer } from "./stream-container.js";

const UPSTREAM = { file: "staging/src/k8s.io/kubectl/pkg/cmd/exec/exec.go", func: "Run" };

/** Flags of exec. */
export interface ExecOptions extends RemoteOptions {
  readonly cri?: string;
}

export interface ExecRequest {
  readonly pod: string;
  readonly words: readonly string[];
  readonly options: ExecOptions;
  /** whether the user set --namespace, which has a default */
  readonly namesNamespace: boolean;
  readonly target: TargetOptions;
}

/** Opens the environment, runs the command in it, and exits with the command's exit code. @throws LabError */
export async function runExec(context: CliContext, request: ExecRequest): Promise<void> {
  const { pod: text, words, options, target } = request;
  if (options.cri !== undefined) return runOnRuntime(context, options.cri, request);
  const name = parsePodName(text, options.namespace);
  await using environment = await openStreamEnvironment(context, "exec", target, name);
  await execIn(context, environment, name, words, options);
}

/** Runs the command in a container of an existing runtime; the pod argument names the container. */
async function runOnRuntime(context: CliContext, endpoint: string, request: ExecRequest): Promise<void> {
  const { pod: text, words, options, namesNamespace, target } = request;
  const refused = ["kubeconfig", "context", "real", "mock", "cluster", "yes", "container"] as const;
  const other = refused.find((key) => options[key] !== undefined) ?? (namesNamespace ? "namespace" : undefined);
  if (other !== undefined) {
    const hint =
      "Leave out one of them: with --cri this command starts the API server, and CONTAINER names the container.";
    throw new LabError("USAGE", `--cri and --${other} contradict each other`, hint);
  }
  const { openCriEnvironment } = await import("./cri-environment.js");
  const { kubeVersion, speed } = target;
  await using environment = await openCriEnvironment(context, text, { endpoint, kubeVersion, speed });
  const { pod, container } = environment.found;
  await execIn(context, environment, pod, words, { ...options, container: container.name });
}

function execIn(
  context: CliContext,
  environment: StreamEnvironment,
  name: PodName,
  words: readonly string[],
  options: RemoteOptions,
): Promise<void> {
  return streamContainer(context, environment, name, options, {
    subresource: "exec",
    words,
    title: `Run ${JSON.stringify(words.join(" ").slice(0, 60))} in ${name.name}`,
    upstream: UPSTREAM,
    chooseStreams: () => streamsOf(context, options, environment.client.trace),
  });
}

/** Mirrors SetupTTY in k8s.io/kubectl/pkg/cmd/exec/exec.go: a remote terminal needs a local one. */
function streamsOf(
  context: CliContext,
  { stdin = false, tty = false }: Pick<RemoteOptions, "stdin" | "tty">,
  trace: Trace,
): RemoteCommandOptions {
  const isTerminal = tty && stdin && hasRawMode(context.streams);
  if (tty && !isTerminal) {
    const why = stdin ? "stdin is not a terminal" : "-t needs -i as well, to send input";
    trace.emit({ kind: "note", text: `The command gets no terminal: ${why}.` }, { actor: "user", level: 0 });
  }
  return { stdin, stdout: true, stderr: !isTerminal, tty: isTerminal };
}

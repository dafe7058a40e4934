import type { Command } from "commander";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { RemoteCommandOptions } from "../../staging/streaming/remote-command/session.js";
import type { Trace } from "../../trace/trace.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { targetOptions } from "../cli/options.js";
import { hasRawMode } from "../cli/terminal-keys.js";
import { openStreamEnvironment } from "./environment.js";
import { addRemoteOptions, type RemoteOptions } from "./options.js";
import { parsePodName } from "./pod.js";
import { streamContainer } from "./stream-container.js";

const UPSTREAM = { file: "staging/src/k8s.io/kubectl/pkg/cmd/attach/attach.go", func: "Run" };

/** `kubelab attach`: connects to the streams of a container's first process. */
export function addAttachCommand(command: Command, context: CliContext): void {
  command
    .description(
      "Connects to the first process of a container: to its output from now on, and with -i to its input. Ends when the process does, or with Ctrl-C, which leaves the process running.",
    )
    .argument("<pod>", "name of the pod");
  addExamples(command, "kubelab attach nginx", "kubelab attach mypod -c app -it", "kubelab attach nginx --frames");
  addRemoteOptions(command).action((pod: string, options: RemoteOptions) => runAttach(context, pod, options));
}

async function runAttach(context: CliContext, text: string, options: RemoteOptions): Promise<void> {
  const name = parsePodName(text, options.namespace);
  await using environment = await openStreamEnvironment(context, "attach", targetOptions(options), name);
  const { trace } = environment.client;
  await streamContainer(context, environment, name, options, {
    subresource: "attach",
    title: `Attach to ${name.name}`,
    upstream: UPSTREAM,
    chooseStreams: (pod, container) => streamsOf(context, options, pod, container, trace),
  });
}

/** The container's spec decides whether there is a terminal. Mirrors Run in attach.go. */
function streamsOf(
  context: CliContext,
  { stdin = false, tty: isWanted = false }: RemoteOptions,
  { spec }: V1Pod,
  container: string,
  trace: Trace,
): RemoteCommandOptions {
  const note = (text: string) => trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const tty = containers.find(({ name }) => name === container)?.["tty"] === true;
  if (isWanted && !tty)
    note(`No terminal: the container ${container} was created without one (tty: true in its spec).`);
  if (tty && stdin && !hasRawMode(context.streams)) {
    note("The container has a terminal, but stdin is not one: input is sent as if it were typed.");
  }
  return { stdin, stdout: true, stderr: !tty, tty };
}

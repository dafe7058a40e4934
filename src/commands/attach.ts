import type { Command } from "commander";
import type { V1Pod } from "../apimachinery/api/pod.js";
import type { CliContext } from "../cli/context.js";
import { targetOptions } from "../cli/options.js";
import type { RemoteCommandOptions } from "../streaming/remote-command/session.js";
import { addExamples } from "./examples.js";
import { explainContainer } from "./exec/container-hint.js";
import { openStreamEnvironment } from "./exec/environment.js";
import { hasTerminal } from "./exec/local-terminal.js";
import { addRemoteOptions, protocolsOf, type RemoteOptions } from "./exec/options.js";
import { checkNotCompleted, chooseContainer, containerOf, getPod, parsePodName, podPath } from "./exec/pod.js";
import { runRemote } from "./exec/remote.js";
import { passOn, streamQuery } from "./exec/run-exec.js";

const UPSTREAM = { file: "staging/src/k8s.io/kubectl/pkg/cmd/attach/attach.go", func: "Run" };

/** `kubelab attach`: the streams of a container's first process. */
export function addAttachCommand(program: Command, context: CliContext): void {
  const command = program
    .command("attach")
    .summary("see what a container's process writes, and type to it")
    .description(
      "Connects to the process that a container was started with: its output from now on, and with -i its input. Ends when the process does, or with Ctrl-C; the process goes on then.",
    )
    .argument("<pod>", "name of the pod");
  addExamples(command, "kubelab attach nginx", "kubelab attach mypod -c app -it", "kubelab attach nginx --frames");
  addRemoteOptions(command).action((pod: string, options: RemoteOptions) => runAttach(context, pod, options));
}

async function runAttach(context: CliContext, text: string, options: RemoteOptions): Promise<void> {
  const name = parsePodName(text, options.namespace);
  await using environment = await openStreamEnvironment(context, "attach", targetOptions(options), name);
  const { client } = environment;
  const { trace } = client;
  const end = await trace.chapter("exec", () =>
    trace.step("user", `Attach to ${name.name}`, { upstream: UPSTREAM }, async () => {
      const pod = await getPod(client, name, environment.unknownPodHint, context.signal);
      checkNotCompleted(pod, "attach");
      const container = chooseContainer(pod, options.container, trace);
      const streams = streamsOf(context, options, pod, container);
      const path = `${podPath(name, "attach")}?${streamQuery(container, streams)}`;
      const request = {
        path,
        options: streams,
        protocols: protocolsOf(options.protocol, environment.kubeVersion),
        showsFrames: options.frames === true,
      };
      const run = (hint: string | undefined) =>
        runRemote(client, { ...request, hint }, context.streams, context.signal);
      return explainContainer(pod, container, run, environment.isPodStarted);
    }),
  );
  passOn(context, trace, end);
}

/** Whether there is a terminal was decided when the container was made. Mirrors Run in attach.go. */
function streamsOf(context: CliContext, options: RemoteOptions, pod: V1Pod, container: string): RemoteCommandOptions {
  const { stdin = false, tty: isWanted = false } = options;
  const { trace } = context.session({});
  const note = (text: string) => trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  const tty = containerOf(pod, container)?.["tty"] === true;
  if (isWanted && !tty) note(`No terminal: the container ${container} was made without one (tty: true in its spec).`);
  if (tty && stdin && !hasTerminal(context.streams)) {
    note("The container has a terminal, and stdin is none: it is sent as if it were typed.");
  }
  return { stdin, stdout: true, stderr: !tty, tty };
}

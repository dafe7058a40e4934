import type { Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { addOutputOptions, addTargetOptions, targetOptions } from "../cli/options.js";
import { addExamples } from "./examples.js";
import { openStreamEnvironment } from "./exec/environment.js";
import { type ForwardFlag, forwardProtocolOption, type OpenForward, portForward } from "./exec/forward.js";
import { addNamespaceOption, framesOption, type PodOptions } from "./exec/options.js";
import { getPod, parsePodName } from "./exec/pod.js";
import { parseForwards, resolveForwards } from "./exec/ports.js";

interface PortForwardOptions extends PodOptions {
  readonly protocol?: ForwardFlag;
  readonly frames?: boolean;
  readonly address: string;
}

const UPSTREAM = { file: "staging/src/k8s.io/kubectl/pkg/cmd/portforward/portforward.go", func: "RunPortForward" };

/** `kubelab port-forward`: ports of this machine that lead into a pod. */
export function addPortForwardCommand(program: Command, context: CliContext): void {
  const command = program
    .command("port-forward")
    .summary("let ports of this machine lead to ports of a pod")
    .description(
      "Listens on this machine, and carries each connection through API server, kubelet and runtime to a port of the pod, until Ctrl-C. Each connection is told: when it opens, what went through, how it ended. --json prints one list, each port as {address, local, remote}, once all of them listen.",
    )
    .argument("<pod>", "name of the pod")
    .argument("<ports...>", "[LOCAL:]REMOTE, a number or a port's name; :REMOTE takes any free port here");
  addExamples(
    command,
    "kubelab port-forward nginx 8080:80       # then: curl 127.0.0.1:8080",
    "kubelab port-forward web 8080:http",
    "kubelab port-forward nginx :80 --frames",
    "kubelab port-forward nginx 8080:80 --protocol spdy",
  );
  addNamespaceOption(addTargetOptions(addOutputOptions(command)))
    .option("--address <ip>", "listen at this address of the machine", "127.0.0.1")
    .addOption(forwardProtocolOption())
    .addOption(framesOption())
    .action((pod: string, ports: readonly string[], options: PortForwardOptions) =>
      runPortForward(context, pod, ports, options),
    );
}

async function runPortForward(
  context: CliContext,
  text: string,
  ports: readonly string[],
  options: PortForwardOptions,
): Promise<void> {
  const name = parsePodName(text, options.namespace);
  const wanted = parseForwards(ports);
  await using environment = await openStreamEnvironment(
    context,
    "port-forward",
    targetOptions(options),
    name,
    "running",
  );
  const { client } = environment;
  await client.trace.chapter("exec", () =>
    client.trace.step("user", `Forward ports to ${name.name}`, { upstream: UPSTREAM }, async () => {
      const pod = await getPod(client, name, environment.unknownPodHint, context.signal);
      const { address, protocol, frames = false } = options;
      const { kubeVersion } = environment;
      const forwards = resolveForwards(wanted, pod);
      const request = { pod, address, forwards, protocol, kubeVersion, showsFrames: frames };
      await portForward(client, request, (opened) => context.print(listeningResult(opened)), context.signal);
    }),
  );
}

/** One document however many ports there are. Mirrors the lines of client-go/tools/portforward (listenOnPort). */
function listeningResult(opened: readonly OpenForward[]): { readonly text: string; readonly json: unknown } {
  const lines = opened.map(({ address, local, remote }) => {
    const host = address.includes(":") ? `[${address}]` : address;
    return `Forwarding from ${host}:${local} -> ${remote}`;
  });
  return { text: lines.join("\n"), json: opened };
}

import type { Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addOutputOptions, parsePort, targetOptions } from "../cli/options.js";
import { addRemoteOptions } from "./options.js";
import { type ExecOptions, runExec } from "./run-exec.js";
import type { ServeOptions } from "./run-serve.js";

/** `kubelab exec`: a command in a container, and every hop on the way to it. */
export function addExecCommand(command: Command, context: CliContext): void {
  command
    // Flags after `serve` belong to it, though exec has flags of the same names.
    .enablePositionalOptions()
    .description(
      "Runs a command in a container of a pod, through API server, kubelet and container runtime. Prints its output to stdout and the hops to stderr, and exits with its exit code. Starts a cluster with the pods nettool and nginx if none runs.",
    )
    .argument("<pod>", "name of the pod; with --cri, name or ID of a container")
    .argument("<command...>", "the command, after --")
    .showHelpAfterError("Write the command after --: kubelab exec POD -- ls -l. Add --help for the flags.");
  addExamples(
    command,
    "kubelab exec nettool -- ls -l /",
    "kubelab exec nettool -it -- sh",
    "echo hello | kubelab exec nettool -i --frames -- cat",
    "kubelab exec nettool --protocol v4 -- sh -c 'exit 7'; echo $?",
    "kubelab exec nettool --kube-version 1.32 -v 2 -- date",
    "kubelab exec --cri unix:///run/containerd/containerd.sock ID -- ls",
  );
  addRemoteOptions(command)
    .option("--cri <endpoint>", "use this real runtime, with an API server and a kubelet's server in front of it")
    .action((pod: string, words: readonly string[], options: ExecOptions) => {
      const namesNamespace = command.getOptionValueSource("namespace") === "cli";
      return runExec(context, { pod, words, options, namesNamespace, target: targetOptions(options) });
    });
  addServeCommand(command, context);
}

/** `kubelab exec serve`: the API server and the kubelet's server, for other clients. */
function addServeCommand(exec: Command, context: CliContext): void {
  const command = exec
    .command("serve")
    .showHelpAfterError("Add --help for the flags.")
    .summary("keep the API server and the kubelet's server up for other clients")
    .description(
      "Starts an API server and a kubelet's server in front of a container runtime and keeps them up for kubectl, client-go or curl. Reports every request. The pods are the runtime's sandboxes at the start; the runtime is not changed.",
    );
  addExamples(
    command,
    "kubelab exec serve --apiserver-port 6443 --kubelet-port 9090",
    "kubelab exec serve --plain-http   # then: curl http://127.0.0.1:6443/version",
    "kubelab exec serve --cri unix:///run/containerd/containerd.sock",
  );
  addOutputOptions(command)
    .option("--apiserver-port <port>", "port of the API server; 0: a free one", parsePort, 6443)
    .option("--kubelet-port <port>", "port of the kubelet's server; 0: a free one", parsePort, 9090)
    .option("--plain-http", "serve without TLS: every user of this machine has full access")
    .option("--cri <endpoint>", "a real runtime: unix:///path or tcp://host:port (default: embedded)")
    .option("--kube-version <release>", "behave like this release", "1.25")
    .action(async (_options: unknown, self: Command) => {
      // Loaded on demand: exec needs no servers.
      const { runServe } = await import("./run-serve.js");
      await runServe(context, self.optsWithGlobals<ServeOptions>());
    });
}

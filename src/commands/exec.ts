import { type Command, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import { targetOptions } from "../cli/options.js";
import { addExamples } from "./examples.js";
import { addRemoteOptions } from "./exec/options.js";
import { type ExecOptions, runExec } from "./exec/run-exec.js";
import { addServeCommand } from "./exec/serve.js";

/** `kubelab exec`: a command in a container, and every hop on the way to it. */
export function addExecCommand(program: Command, context: CliContext): void {
  const command = program
    .command("exec")
    // What stands behind `serve` is meant for it, though exec has flags of the same names.
    .enablePositionalOptions()
    .summary("run a command in a pod, and see every hop on the way there")
    .description(
      "Runs a command in a container of a pod: client, API server, kubelet, container runtime. Its output is on stdout, the hops are on stderr, its exit code is this command's. Where no cluster runs, one is started, with the pods nettool and nginx.",
    )
    .argument("<pod>", "name of the pod; with --cri name or ID of a container")
    .argument("<command...>", "what to run, behind --")
    .showHelpAfterError("(what is to run stands behind --: kubelab exec POD -- ls -l; add --help for the flags)");
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
    .addOption(
      new Option("--cri <endpoint>", "through an API server and a kubelet of this command's own to this real runtime"),
    )
    .action((pod: string, words: readonly string[], options: ExecOptions) => {
      const namesNamespace = command.getOptionValueSource("namespace") === "cli";
      return runExec(context, { pod, words, options, namesNamespace, target: targetOptions(options) });
    });
  addServeCommand(command, context);
}

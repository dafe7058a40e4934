import type { Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { targetOptions } from "../cli/options.js";
import { LabError } from "../util/errors.js";
import { addExamples } from "./examples.js";
import { addRemoteOptions, type RemoteOptions } from "./exec/options.js";
import { runExec } from "./exec/run-exec.js";

/** `kubelab exec`: a command in a container, and every hop on the way to it. */
export function addExecCommand(program: Command, context: CliContext): void {
  const command = program
    .command("exec")
    .summary("run a command in a pod, and see every hop on the way there")
    .description(
      "Runs a command in a container of a pod: client, API server, kubelet, container runtime. Its output is on stdout, the hops are on stderr, its exit code is this command's. Where no cluster runs, one is started, with the pods nettool and nginx.",
    )
    .argument("<pod>", "name of the pod; with --cri name or ID of a container")
    .argument("<command...>", "what to run, behind --");
  addExamples(
    command,
    "kubelab exec nettool -- ls -l /",
    "kubelab exec nettool -it -- sh",
    "echo hello | kubelab exec nettool -i --frames -- cat",
    "kubelab exec nettool --protocol v4 -- sh -c 'exit 7'; echo $?",
    "kubelab exec --kube-version 1.32 nettool -v 2 -- date",
  );
  addRemoteOptions(command).action(async (pod: string, words: readonly string[], options: RemoteOptions) => {
    if (words.length === 0) throw new LabError("USAGE", "there is no command to run", "kubelab exec POD -- COMMAND");
    await runExec(context, { pod, words, options, target: targetOptions(options) });
  });
}

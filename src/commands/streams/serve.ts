import type { Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addOutputOptions, parsePort } from "../cli/options.js";
import type { ServeOptions } from "./run-serve.js";

/** `kubelab exec serve`: the API server and the kubelet's server, for other clients. */
export function addServeCommand(exec: Command, context: CliContext): void {
  const command = exec
    .command("serve")
    .showHelpAfterError("(add --help for the flags)")
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

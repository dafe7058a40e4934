import type { Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addInspectorOptions, type InspectorOptions } from "../inspector/options.js";
import { runInspector } from "../inspector/run.js";
import { showsStaticPods, staticPodKeys, staticPodResult, staticPodStatus } from "./inspector.js";

/** `kubelab static-pod`: a file becomes a static pod, and its mirror pod shows the status. */
export function addStaticPodCommand(command: Command, context: CliContext): void {
  command.description(
    "Runs a kubelet with a folder of manifests and shows what becomes of them: static pods, their mirror pods in the API, their status. Without --manifest-dir the folder is a temporary one with one manifest in it, and keys write, change, break and remove more.",
  );
  addExamples(
    command,
    "kubelab static-pod",
    "kubelab static-pod --manifest-dir ./manifests --duration 1m",
    "kubelab static-pod --yes --cri unix:///run/containerd/containerd.sock",
  );
  addInspectorOptions(command, "static-node").action((options: InspectorOptions) =>
    runInspector(context, {
      command: "static-pod",
      options,
      levelOf: showsStaticPods,
      firstManifest: "web",
      keys: staticPodKeys,
      status: staticPodStatus,
      result: staticPodResult,
    }),
  );
}

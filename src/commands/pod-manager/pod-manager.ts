import type { Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addHttpOption, addInspectorOptions, type InspectorOptions } from "../inspector/options.js";
import { runInspector } from "../inspector/run.js";
import {
  followTranslations,
  podManagerKeys,
  podManagerResult,
  podManagerStatus,
  servePods,
  showsPodManager,
} from "./inspector.js";

/** `kubelab pod-manager`: the pods that a kubelet should run, and the mirror pod of each static pod. */
export function addPodManagerCommand(command: Command, context: CliContext): void {
  command.description(
    "Runs a kubelet and serves what its pod manager knows: regular, static and mirror pods, and the translation of their UIDs. GET /pods returns the list as JSON; the page updates itself.",
  );
  addExamples(
    command,
    "kubelab pod-manager --http 127.0.0.1:8080",
    "kubelab pod-manager --manifest-dir ./manifests",
    "curl -s http://127.0.0.1:8080/pods | jq '.items[].metadata.name'",
  );
  addHttpOption(
    addInspectorOptions(command, "manager-node"),
    "address of the page (default: a free port of 127.0.0.1)",
  );
  command.action((options: InspectorOptions) =>
    runInspector(context, {
      command: "pod-manager",
      options,
      levelOf: showsPodManager,
      loops: (inspector, window) => [
        (signal) => servePods(inspector, window, options.http, signal),
        (signal) => followTranslations(inspector, signal),
      ],
      keys: podManagerKeys,
      status: podManagerStatus,
      result: podManagerResult,
    }),
  );
}

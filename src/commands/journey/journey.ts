import type { Command } from "commander";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addOutputOptions, addTargetOptions, durationOption, parsePath, targetOptions } from "../cli/options.js";
import type { JourneyOptions } from "./run.js";

/** `kubelab journey`: the life of a pod or a Deployment in numbered steps, each with its cause. */
export function addJourneyCommand(command: Command, context: CliContext): void {
  command
    .description(
      "Creates a pod or a Deployment and prints its life in numbered steps: every request, stored version, watch event, decision and call to the runtime that the request caused, from the request until it runs; with --delete until it is gone. Starts a cluster with a node if none runs; of another cluster it shows what a client can observe.",
    )
    .argument("[object]", "pod/NAME or deployment/NAME: one of this name with the image nginx (default: pod/web)");
  addExamples(
    command,
    "kubelab journey",
    "kubelab journey -f pod.yaml --explain",
    "kubelab journey deployment/web",
    "kubelab journey pod/web --delete --json",
  );
  addTargetOptions(addOutputOptions(command))
    .option("-f, --filename <file>", "its manifest, instead of a name", parsePath)
    .option("--delete", "delete it when it runs, and follow it until it is gone; a Deployment until its pods are")
    .option("--explain", "add one sentence and the upstream source to each step")
    .addOption(durationOption("--timeout <duration>", "how long to wait for each of both", "60s"))
    .action(async (pod: string | undefined, options: JourneyOptions) => {
      const { runJourney } = await import("./run.js");
      await runJourney(context, { pod, options, target: targetOptions(options) });
    });
}

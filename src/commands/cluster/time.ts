import { type Command, InvalidArgumentError } from "commander";
import { runningClusterNames } from "../../testbed/target/cluster-state.js";
import { clusterToJoin, DEFAULT_CLUSTER, upCommand } from "../../testbed/target/target.js";
import { parseCondition } from "../../testbed/time/condition.js";
import type { TimeAnswer, TimeOperation } from "../../testbed/time/operation.js";
import { askTime } from "../../testbed/time/serve.js";
import { LabError } from "../../util/errors.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addOutputOptions, durationOption, parseDuration, parseSpeed } from "../cli/options.js";
import { requireRunning } from "./running.js";
import { momentText, timersText } from "./time-text.js";

const MAX_STEPS = 10_000;

/** `kubelab time pause | step | jump | until | timers | speed | resume`: holds the clock of an embedded cluster. */
export function addTimeCommand(time: Command, context: CliContext): void {
  time.description(
    "Holds the clock of a running `kubelab cluster up`, or of a lab. While it is paused, requests are answered, but no timer runs: time moves from one timer to the next when you say so, and only when all parts have done what they can.",
  );
  const command = (name: string, description: string) =>
    addOutputOptions(time.command(name).description(description))
      .option("--name <name>", "name of the cluster (default: the one that other commands join)")
      .option("--lab", "the cluster of the lab that is played in another terminal");
  const simple = (name: "pause" | "resume", description: string) =>
    command(name, description).action((flags: Flags) => hold(context, flags, { op: name }));

  simple("pause", "let the time stand still");
  const step = command("step", "move the time to the next timer, and say whose it is")
    .argument("[count]", "how many timers", parseSteps, 1)
    .action((count: number, flags: Flags) => hold(context, flags, { op: "step", count }));
  addExamples(step, "kubelab time pause", "kubelab time step", "kubelab time step 20");
  command("jump", "move the time on, timer by timer")
    .argument("<duration>", "40s, 5m, 1h", parseDuration)
    .action((ms: number, flags: Flags) => hold(context, flags, { op: "jump", ms }));
  const until = command("until", "move the time, timer by timer, until a condition is met")
    .argument("<condition>", "pod/NAME=STATE, pod/NAMESPACE/NAME=STATE, node/NAME=STATE, event=REASON or fact=TEXT")
    .addOption(durationOption("--limit <duration>", "how far the time may move", "1h"))
    .action((condition: string, { limit: limitMs, ...flags }: Flags & { readonly limit: number }) => {
      parseCondition(condition);
      return hold(context, flags, { op: "until", condition, limitMs });
    });
  addExamples(
    until,
    "kubelab time until node/node-1=Unknown",
    "kubelab time until pod/web=CrashLoopBackOff",
    "kubelab time until event=TaintManagerEviction --limit 10m",
  );
  command("timers", "list who waits for what, until when, and which constant sets it").action((flags: Flags) =>
    hold(context, flags, { op: "timers" }),
  );
  command("speed", "let the time pass this many times as fast")
    .argument("<factor>", "0.1 to 1000", parseSpeed)
    .action((factor: number, flags: Flags) => hold(context, flags, { op: "speed", factor }));
  simple("resume", "let the time pass again");
}

interface Flags {
  readonly name?: string;
  readonly lab?: boolean;
}

function parseSteps(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_STEPS) return count;
  throw new InvalidArgumentError(`expected a number from 1 to ${MAX_STEPS}.`);
}

/** @throws LabError FAILED if the cluster does not run, or has a clock that cannot be held; TIMED_OUT if a condition is not met */
async function hold(context: CliContext, flags: Flags, operation: TimeOperation): Promise<void> {
  const name = await nameOf(context, flags);
  const state = await requireRunning(context, name, `Start it: ${upCommand(name)}`);
  using line = context.progress("the time moves");
  const answer = state.timeSocket && (await askTime(state.timeSocket, operation, context.signal));
  line.update("");
  if (answer === undefined || answer === "") {
    throw new LabError(
      "FAILED",
      `the clock of cluster ${name} cannot be held`,
      "Start it again with this release of kubelab.",
    );
  }
  context.print({ text: textOf(operation, answer), json: answer });
  if (answer.isMet === false && operation.op === "until") {
    const message = `${operation.condition} was not met within ${operation.limitMs / 1000} s of the cluster's time`;
    throw new LabError(
      "TIMED_OUT",
      message,
      "Look at what it waits for: kubelab time timers. Or allow more: --limit 24h",
    );
  }
}

/** @throws LabError USAGE, FAILED unless one lab runs */
async function nameOf({ env }: CliContext, { name, lab }: Flags): Promise<string> {
  if (lab !== true) return name ?? (await clusterToJoin(env)) ?? DEFAULT_CLUSTER;
  if (name !== undefined) throw new LabError("USAGE", "--lab and --name both choose the cluster", "Give one of them.");
  const [only, ...others] = await runningClusterNames(env, (state) => state.isLab === true);
  if (only === undefined)
    throw new LabError("FAILED", "no lab with a clock of its own is played", "Start one: kubelab learn");
  if (others.length === 0) return only;
  throw new LabError("FAILED", `several labs are played: ${[only, ...others].join(", ")}`, "Name one with --name.");
}

function textOf({ op }: TimeOperation, answer: TimeAnswer): string {
  return op === "timers" ? `${timersText(answer)}\n${momentText(answer)}` : momentText(answer);
}

import { isAbsolute, join } from "node:path";
import type { CliContext } from "../../cli/context.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import type { PodHandler } from "../../virtual/handler.js";
import type { VirtualRuntime } from "../../virtual/virtual-runtime.js";
import type { NodeCommandOptions } from "./options.js";

/** What of the flags is about virtual pods. */
export type HandlerOptions = Pick<NodeCommandOptions, "handler" | "handlerCommand" | "handlerTimeout" | "cri">;

/** Of the environment a command gets this, and what its pod brings. */
const PASSED_ON = ["PATH", "HOME", "LANG", "TMPDIR"] as const;

/** Ends what the node's last kubelet has left, if it was killed: there must not be two at work for one pod. */
export async function endLeftWork(trace: Trace, nodeFolder: string): Promise<void> {
  const { endLeftCommands } = await import("../../virtual/command-notes.js");
  const ended = await endLeftCommands(nodeFolder);
  if (ended.length === 0) return;
  const text = `Ended the commands of a kubelet that was killed (process groups ${ended.join(", ")}).`;
  trace.emit({ kind: "note", text }, { actor: "user" });
}

/**
 * Starts the runtime of virtual pods if a flag asks for one.
 * @param nodeFolder is there, and this process's own
 * @returns undefined: pods are containers here
 * @throws LabError USAGE for flags that contradict each other, BAD_FILE for a handler that is none
 */
export async function openHandler(
  context: CliContext,
  { clock, trace }: { readonly clock: Clock; readonly trace: Trace },
  options: HandlerOptions,
  nodeFolder: string,
): Promise<(VirtualRuntime & { readonly description: string }) | undefined> {
  const handler = await handlerOf(context, clock, options, nodeFolder);
  if (handler === undefined) return undefined;
  const text = `Virtual pods: each pod of this node is one call of ${handler.description}.`;
  trace.emit({ kind: "note", text }, { actor: "user" });
  const { startVirtualRuntime } = await import("../../virtual/virtual-runtime.js");
  const deps = { handler, clock, trace, random: context.random };
  const runtime = await startVirtualRuntime(deps, { timeoutMs: options.handlerTimeout });
  return { ...runtime, description: handler.description };
}

/** @throws LabError USAGE: before anything is opened */
export function checkHandlerOptions({ handler, handlerCommand, handlerTimeout, cri }: HandlerOptions): void {
  const flag = handler !== undefined ? "--handler" : handlerCommand !== undefined ? "--handler-command" : undefined;
  if (handler !== undefined && handlerCommand !== undefined) {
    throw usage(
      "--handler and --handler-command contradict each other",
      "Leave out one of them: a pod has one worker.",
    );
  }
  if (flag === undefined && handlerTimeout !== undefined) {
    throw usage("--handler-timeout is for --handler and --handler-command", "Name the handler that it limits.");
  }
  if (handlerTimeout === 0) {
    throw usage("--handler-timeout 0 leaves no time to work", "Leave it out for no limit, or name one: 5m.");
  }
  if (handlerCommand?.trim() === "") {
    throw usage("--handler-command is empty", "Name a shell command: --handler-command './work.sh'.");
  }
  if (flag === undefined || cri === undefined) return;
  throw usage(
    `${flag} and --cri contradict each other`,
    "With a handler there are no containers: leave out one of them.",
  );
}

async function handlerOf(
  { cwd, env, signal }: CliContext,
  clock: Clock,
  { handler, handlerCommand }: HandlerOptions,
  nodeFolder: string,
): Promise<PodHandler | undefined> {
  if (handler !== undefined) {
    const { ModuleHandler } = await import("../../virtual/module-handler.js");
    const found = new ModuleHandler(isAbsolute(handler) ? handler : join(cwd, handler), handler);
    await found.check(clock, signal);
    return found;
  }
  if (handlerCommand === undefined) return undefined;
  const { CommandHandler } = await import("../../virtual/command-handler.js");
  const { CommandNotes } = await import("../../virtual/command-notes.js");
  const passedOn = Object.fromEntries(PASSED_ON.map((name) => [name, env[name]]));
  return new CommandHandler(handlerCommand, passedOn, new CommandNotes(nodeFolder));
}

function usage(message: string, hint: string): LabError {
  return new LabError("USAGE", message, hint);
}

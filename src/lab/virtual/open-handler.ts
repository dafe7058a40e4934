import { isAbsolute, join } from "node:path";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { Random } from "../../util/random.js";
import type { PodHandler } from "./handler.js";
import type { VirtualRuntime } from "./virtual-runtime.js";

/** Names a handler: at most one of the two. */
export interface HandlerOptions {
  /** a module whose function does the work of pods */
  readonly handler?: string;
  /** a shell command that does it */
  readonly handlerCommand?: string;
  /** ms */
  readonly handlerTimeout?: number;
}

export interface LoadHandlerDeps {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** real time: it limits how long the module may take to load */
  readonly clock: Clock;
}

/** Environment variables that a command inherits; its pod adds others. */
const PASSED_ON = ["PATH", "HOME", "LANG", "TMPDIR"] as const;

/** Ends the commands of a killed kubelet of this node, so that a pod never has two. */
export async function endLeftWork(trace: Trace, nodeFolder: string): Promise<void> {
  const { endLeftCommands } = await import("./command-notes.js");
  const ended = await endLeftCommands(nodeFolder);
  if (ended.length === 0) return;
  const text = `Ended the commands of a kubelet that was killed (process groups ${ended.join(", ")}).`;
  trace.emit({ kind: "note", text }, { actor: "user" });
}

/** Starts the runtime of virtual pods. */
export async function startHandler(
  deps: { readonly handler: PodHandler; readonly random: Random; readonly clock: Clock; readonly trace: Trace },
  { handlerTimeout }: HandlerOptions,
): Promise<VirtualRuntime> {
  const text = `Virtual pods: each pod of this node is one call of ${deps.handler.description}.`;
  deps.trace.emit({ kind: "note", text }, { actor: "user" });
  const { startVirtualRuntime } = await import("./virtual-runtime.js");
  return startVirtualRuntime(deps, { timeoutMs: handlerTimeout });
}

/**
 * Loads and checks the handler that the options name, before a cluster is started or joined.
 * @param nodeFolder an existing folder that this process has locked
 * @returns undefined without a handler: pods have containers
 * @throws LabError BAD_FILE for an invalid handler module
 */
export async function loadHandler(
  { cwd, env, signal, clock }: LoadHandlerDeps,
  { handler, handlerCommand }: HandlerOptions,
  nodeFolder: string,
): Promise<PodHandler | undefined> {
  if (handler !== undefined) {
    const { ModuleHandler } = await import("./module-handler.js");
    const found = new ModuleHandler(isAbsolute(handler) ? handler : join(cwd, handler), handler);
    await found.check(clock, signal);
    return found;
  }
  if (handlerCommand === undefined) return undefined;
  const { CommandHandler } = await import("./command-handler.js");
  const { CommandNotes } = await import("./command-notes.js");
  const passedOn = Object.fromEntries(PASSED_ON.map((name) => [name, env[name]]));
  return new CommandHandler(handlerCommand, passedOn, new CommandNotes(nodeFolder));
}

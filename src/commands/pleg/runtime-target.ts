import type { CliContext } from "../../cli/context.js";
import type { LabRuntime } from "../../testbed/runtime/lab-runtime.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { PlegCommandOptions } from "./plan.js";

/** The runtime that PLEG looks at. */
export interface RuntimeTarget {
  readonly endpoint: string;
  /** only of the embedded one: a real runtime is looked at, never changed */
  readonly lab: LabRuntime | undefined;
  readonly description: string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Takes the runtime that --cri names, or starts the embedded one with the lab's pods in it. */
export async function openRuntime(
  context: CliContext,
  deps: { readonly clock: Clock; readonly trace: Trace },
  options: PlegCommandOptions,
): Promise<RuntimeTarget> {
  if (options.cri !== undefined) {
    const close = async () => {};
    const description = `the runtime at ${options.cri}; nothing is changed there`;
    return { endpoint: options.cri, lab: undefined, description, close, [Symbol.asyncDispose]: close };
  }
  const { startLabRuntime } = await import("../../testbed/runtime/embedded-lab.js");
  const lab = await startLabRuntime({ ...deps, random: context.random });
  const close = () => lab.close();
  const description = `an embedded runtime with the pods mypod and myngx, at ${lab.endpoint}`;
  return { endpoint: lab.endpoint, lab, description, close, [Symbol.asyncDispose]: close };
}

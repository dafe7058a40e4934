import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { Random } from "../../util/random.js";
import type { LabRuntime } from "../runtime/lab-runtime.js";

/** The runtime that PLEG observes. */
export interface RuntimeTarget extends AsyncDisposable {
  readonly endpoint: string;
  /** only of the embedded one: a real runtime is observed, never changed */
  readonly lab: LabRuntime | undefined;
  readonly description: string;
}

/** Uses the runtime at `cri`, or starts the embedded one with two sample pods. */
export async function openRuntime(
  deps: { readonly clock: Clock; readonly trace: Trace; readonly random: Random },
  cri: string | undefined,
): Promise<RuntimeTarget> {
  if (cri !== undefined) {
    const description = `the runtime at ${cri}; nothing is changed there`;
    return { endpoint: cri, lab: undefined, description, [Symbol.asyncDispose]: async () => {} };
  }
  const { startLabRuntime } = await import("../runtime/embedded-lab.js");
  const lab = await startLabRuntime(deps);
  const description = `an embedded runtime with the pods mypod and myngx, at ${lab.endpoint}`;
  return { endpoint: lab.endpoint, lab, description, [Symbol.asyncDispose]: () => lab.close() };
}

import type { Kubelet } from "../../../kubelet/app/kubelet.js";
import { openCondition } from "../../../testbed/time/condition.js";
import type { RunParts, Stage } from "../../chaos/stage.js";
import type { Judgement } from "../../chaos/verdict.js";

const LOOK_MS = 500;

export type Methods = Readonly<Record<string, unknown>>;

/** What the learner's file exports; undefined: kubelab's own part runs. */
export type Written = Methods | undefined;

/** Replaces methods of a part of the kubelet that is made already. */
export function replace<T extends object>(part: T, methods: Partial<T>): void {
  Object.assign(part, methods);
}

/** Makes an object of a class that the learner has written. */
export function make(written: Methods, name: string, ...args: readonly unknown[]): Methods {
  return Reflect.construct(written[name] as () => never, args) as Methods;
}

/** Calls a function of the learner's module, or a method of an object: the stages have shown what it gives. */
export function call<T>(written: Methods, name: string, ...args: readonly unknown[]): T {
  return Reflect.apply(written[name] as () => T, written, args);
}

/** Changes the kubelet before anything of it runs, if the learner's part is to run. */
export function changed(written: Written, change: (written: Methods, kubelet: Kubelet) => void): RunParts {
  return written === undefined ? {} : { hooks: { made: (kubelet) => change(written, kubelet) } };
}

/** Waits for a condition in the cluster's time. @param isMet what must hold as well */
export async function becomes(
  { client, clock, facts }: Stage,
  condition: string,
  withinMs: number,
  signal: AbortSignal,
  isMet?: () => Promise<boolean>,
): Promise<Judgement> {
  const wanted = `within ${withinMs / 1000} s`;
  const startMs = clock.now();
  using open = openCondition(condition, { client, trace: facts.reads }, startMs);
  while (clock.now() <= startMs + withinMs) {
    const holds = (await open.test(signal)) && (isMet === undefined || (await isMet()));
    if (holds) return { condition, holds, wanted, atMs: clock.now() - startMs };
    await clock.sleep(LOOK_MS, signal);
  }
  return { condition, holds: false, wanted };
}

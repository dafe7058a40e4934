import type { KubeClient } from "../../staging/client-go/rest/client.js";
import type { Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import type { PendingTimer } from "../../util/timer.js";
import { openCondition } from "./condition.js";
import type { HeldTime } from "./held-time.js";

/** What somebody who holds the clock asks for. */
export type TimeOperation =
  | { readonly op: "pause" | "resume" | "timers" }
  | { readonly op: "step"; readonly count: number }
  | { readonly op: "jump"; readonly ms: number }
  | { readonly op: "until"; readonly condition: string; readonly limitMs: number }
  | { readonly op: "speed"; readonly factor: number };

export const TIME_OPERATIONS = ["pause", "resume", "timers", "step", "jump", "until", "speed"];

/** The clock after an operation. */
export interface TimeAnswer {
  /** Unix ms on the clock */
  readonly nowMs: number;
  readonly isPaused: boolean;
  readonly speed: number;
  /** by how much the operation moved it */
  readonly passedMs: number;
  /** the timers with a purpose that ran */
  readonly ran: readonly PendingTimer[];
  /** those that wait, the next one first */
  readonly timers: readonly PendingTimer[];
  /** of `until`: absent for the others */
  readonly isMet?: boolean;
}

export interface TimeDeps {
  readonly time: HeldTime;
  /** reads pods, nodes and events for conditions, as the administrator, without facts */
  readonly client: KubeClient;
  readonly trace: Trace;
  /** called after each operation that is not only a question */
  readonly onMoved: () => Promise<void>;
}

/** Performs one operation. @throws LabError USAGE for a condition that cannot be read, FAILED as `HeldTime`; the signal's reason */
export async function performTime(deps: TimeDeps, operation: TimeOperation, signal: AbortSignal): Promise<TimeAnswer> {
  const { clock } = deps.time;
  const startMs = clock.now();
  const { ran, isMet } = await move(deps, operation, signal);
  const passedMs = clock.now() - startMs;
  const pending = (await deps.time.settle()).timers;
  const timers = pending.filter(({ wait }) => wait !== undefined);
  const { isPaused, speed } = clock;
  const text = isPaused ? `the time stands still (${passedMs} ms have passed)` : `the time passes, at speed ${speed}`;
  if (operation.op !== "timers") {
    deps.trace.emit({ kind: "note", text }, { actor: "user" });
    await deps.onMoved();
  }
  return { nowMs: clock.now(), isPaused, speed, passedMs, ran, timers, ...defined({ isMet }) };
}

async function move({ time, client, trace }: TimeDeps, operation: TimeOperation, signal: AbortSignal) {
  const ran: PendingTimer[] = [];
  switch (operation.op) {
    case "pause":
      time.clock.pause();
      break;
    case "resume":
      time.clock.resume();
      break;
    case "speed":
      time.clock.setSpeed(operation.factor);
      break;
    case "step":
      for (let i = 0; i < operation.count; i++) ran.push(...(await time.step(signal)).ran);
      break;
    case "jump":
      ran.push(...(await time.jump(operation.ms, signal)).ran);
      break;
    case "until": {
      using condition = openCondition(operation.condition, { client, trace }, time.clock.now());
      const passed = await time.until(() => condition.test(signal), operation.limitMs, signal);
      return { ran: passed?.ran ?? [], isMet: passed !== undefined };
    }
    case "timers":
  }
  return { ran };
}

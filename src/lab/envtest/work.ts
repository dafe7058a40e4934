import { inspect } from "node:util";
import { messageOf } from "../../util/errors.js";
import type { HandlerTask } from "../virtual/handler.js";
import type { PodFunction } from "./api.js";
import type { WorkEvent } from "./messages.js";

/** Calls a program's function for one pod, and reports its log, progress and result. Never throws. */
export async function runWork(
  handler: PodFunction,
  { pod, containers }: HandlerTask,
  signal: AbortSignal,
  report: (event: WorkEvent) => void,
): Promise<void> {
  const log = (...values: readonly unknown[]) => {
    const line = values.map((value) => (typeof value === "string" ? value : inspect(value))).join(" ");
    report({ kind: "log", stream: "stdout", bytes: Buffer.from(`${line}\n`) });
  };
  const progress = (fraction: number, text?: string) => report({ kind: "progress", fraction, text });
  try {
    const value = await handler({ pod: { ...pod }, containers, signal, log, progress });
    report({ kind: "returned", value: sendable(value) });
  } catch (error) {
    report({ kind: "thrown", message: messageOf(error) });
  }
}

/** A value with functions cannot be sent: the pod then fails, and its message shows the value. */
function sendable(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return [inspect(value, { depth: 1 })];
  }
}

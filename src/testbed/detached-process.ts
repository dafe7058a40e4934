import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { SystemClock } from "../util/clock.js";
import type { ProcessContext } from "./context.js";

const POLL_MS = 15;

export interface DetachedOptions<T> {
  /** arguments of this program */
  readonly args: readonly string[];
  /** a file for the output of the process: a pipe would break when this process exits, and end it */
  readonly logFile: string;
  readonly timeoutMs: number;
  /** @returns the announcement of the process with this ID; undefined before it */
  readonly ready: (pid: number) => Promise<T | undefined>;
}

export type DetachedOutcome<T> =
  | { readonly type: "ready"; readonly value: T }
  /** @param log its output, or the reason why it could not be started */
  | { readonly type: "exited"; readonly code: number | null; readonly log: string }
  | { readonly type: "timed-out" };

/** Starts this program again as a process of its own, and waits until it announces itself. Kills it on an abort or a time-out. */
export async function startDetached<T>(
  { self, env, signal }: ProcessContext,
  { args, logFile, timeoutMs, ready }: DetachedOptions<T>,
): Promise<DetachedOutcome<T>> {
  const [program = "kubelab", ...first] = self;
  const log = openSync(logFile, "w", 0o600);
  const child = spawn(program, [...first, ...args], { detached: true, stdio: ["ignore", log, log], env: { ...env } });
  closeSync(log);
  child.unref();
  let exited: DetachedOutcome<T> | undefined;
  child.once("error", ({ message }) => {
    exited = { type: "exited", code: null, log: message };
  });
  child.once("exit", (code) => {
    exited ??= { type: "exited", code, log: readFileSync(logFile, "utf8").trim() };
  });
  const clock = new SystemClock();
  try {
    for (let waitedMs = 0; waitedMs < timeoutMs && exited === undefined; waitedMs += POLL_MS) {
      const value = child.pid === undefined ? undefined : await ready(child.pid);
      if (value !== undefined) return { type: "ready", value };
      await clock.sleep(POLL_MS, signal);
    }
  } catch (error) {
    child.kill("SIGTERM");
    throw error;
  }
  if (exited === undefined) child.kill("SIGTERM");
  return exited ?? { type: "timed-out" };
}

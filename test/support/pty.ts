import { resolve } from "node:path";
import { runProgram } from "./stream-kubectl.js";

export interface TerminalRun {
  readonly output: string;
  /** undefined: it did not end; negative: the signal that ended it */
  readonly code: number | null;
  /** whether the terminal's settings were restored */
  readonly restored: boolean;
}

/** Expected output, then input (`signal 15` sends a signal), and the size (rows, columns) to set before. */
export type TerminalStep = readonly [seen: string, typed: string, resize?: readonly [number, number]];

/** Runs a program on a new terminal of 24 rows and 80 columns. Needs python3. */
export async function runOnTerminal(
  argv: readonly string[],
  kubeconfig: string,
  steps: readonly TerminalStep[],
): Promise<TerminalRun> {
  const script = resolve("test/support/on-terminal.py");
  const { stdout, stderr } = await runProgram(
    ["python3", script, "24", "80", JSON.stringify(steps), ...argv],
    kubeconfig,
  );
  if (stderr !== "") throw new Error(stderr);
  return JSON.parse(stdout) as TerminalRun;
}

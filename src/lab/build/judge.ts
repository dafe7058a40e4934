import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../../util/clock.js";
import { type Printed, runChild } from "./child.js";
import type { FromRunner, RunTests, StageTests, Wrong } from "./runner/messages.js";
import type { SyntaxErrorPlace } from "./runner/syntax-error.js";
import type { GoldenCases, Task } from "./task.js";

/** Put in by the build and by the tests: the program that calls the learner's file. */
declare const KUBELAB_EXERCISE_PROCESS: string;

/** A test takes microseconds. */
const PATIENCE_MS = 4_000;
const HEAP_MB = 128;
const MOST_BYTES = 512 * 1024 * 1024;

/** The name of the stage after the last: what upstream's own code was recorded to do. */
export const GOLDEN_STAGE = "golden";

/** Why a file has no verdict. */
export type Failure =
  | ({ readonly kind: "unloadable"; readonly text: string } & Partial<SyntaxErrorPlace>)
  | { readonly kind: "absent" | "never-loads" }
  /** the calls that were running */
  | { readonly kind: "too-slow"; readonly calls: readonly string[] }
  | { readonly kind: "out-of-memory" | "disturbed"; readonly calls: readonly string[] }
  | { readonly kind: "exits"; readonly calls: readonly string[]; readonly exitCode: number | null };

export interface Verdict {
  /** ids of the stages that pass, in order; GOLDEN_STAGE too */
  readonly passed: readonly string[];
  /** the first test that fails */
  readonly wrong?: Wrong;
  readonly failure?: Failure;
  readonly printed: Printed;
}

/** Runs the tests of a task on a learner's file, in a process of its own with limits of memory and time. */
export async function judge(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  { task, golden }: { readonly task: Task; readonly golden: GoldenCases | undefined },
  file: string,
): Promise<Verdict> {
  const passed: string[] = [];
  const seen: { wrong?: Wrong; unloadable?: Failure; calls: readonly string[]; isOver: boolean } = {
    calls: [],
    isOver: false,
  };
  const take = (line: string) => {
    const message = JSON.parse(line) as FromRunner;
    if (message.type === "at") seen.calls = message.calls;
    else if (message.type === "passed") passed.push(message.stage);
    else if (message.type === "wrong") seen.wrong = message.wrong;
    else if (message.type === "unloadable") seen.unloadable = { ...message, kind: "unloadable" };
    else if (message.type === "absent" || message.type === "never-loads") seen.unloadable = { kind: message.type };
    else if (message.type === "end") seen.isOver = true;
  };
  const input: RunTests = { file, stages: testsOf(task, golden) };
  const program = fileURLToPath(new URL(KUBELAB_EXERCISE_PROCESS, import.meta.url));
  const options = {
    command: [program],
    input: JSON.stringify(input),
    env: {},
    cwd: dirname(file),
    patienceMs: PATIENCE_MS,
    heapMb: HEAP_MB,
    mostBytes: MOST_BYTES,
  };
  const { end, printed } = await runChild(options, clock, take, signal);
  const { wrong, unloadable, calls, isOver } = seen;
  if (wrong !== undefined) return { passed, wrong, printed };
  if (unloadable !== undefined) return { passed, failure: unloadable, printed };
  if (isOver) return { passed, printed };
  if (end.kind !== "ended") return { passed, failure: { kind: end.kind, calls }, printed };
  return { passed, failure: { kind: "exits", calls, exitCode: end.exitCode }, printed };
}

/** The stages' checks, then the recorded cases as a stage of their own. Pure. */
export function testsOf({ stages, async }: Task, golden: GoldenCases | undefined): readonly StageTests[] {
  const own = stages.map(({ id: stage, exports, checks }) => ({
    stage,
    exports,
    async,
    checks: checks.map(({ id, cases }) => ({ id, cases })),
  }));
  const of = stages.find(({ id }) => id === golden?.stage);
  if (golden === undefined || of === undefined) return own;
  const checks = [{ id: GOLDEN_STAGE, cases: golden.cases }];
  return [...own, { stage: GOLDEN_STAGE, exports: of.exports, async, checks }];
}

import type { TestCase } from "../task.js";
import type { SyntaxErrorPlace } from "./syntax-error.js";

/** Tests of one stage, for the process that runs the learner's file. */
export interface StageTests {
  readonly stage: string;
  readonly exports: string;
  /** the functions and methods that may give a promise */
  readonly async: readonly string[];
  readonly checks: readonly { readonly id: string; readonly cases: readonly TestCase[] }[];
}

/** What the process is given on its standard input, as JSON. */
export interface RunTests {
  /** absolute path of the learner's file */
  readonly file: string;
  readonly stages: readonly StageTests[];
}

/** What a call must come to. Values are shown as one line of JavaScript. */
export type Wanted =
  | { readonly kind: "value" | "error"; readonly text: string }
  /** the first call of a fake that differs, counted from 1; without text: no such call */
  | { readonly kind: "call"; readonly number: number; readonly text?: string }
  | { readonly kind: "waits" }
  | { readonly kind: "releases"; readonly text: string };

/** What came of it. */
export type Got =
  | { readonly kind: "value" | "releases"; readonly text: string }
  | { readonly kind: "call"; readonly text?: string }
  /** @property at the line of the learner's file */
  | { readonly kind: "error" | "changes-argument"; readonly text: string; readonly at?: number }
  /** @property text the call that came too early, and the sleep that was not over */
  | { readonly kind: "too-early"; readonly text: string; readonly sleep: string }
  | {
      readonly kind:
        | "waits"
        | "promise"
        | "not-written"
        | "not-exported"
        | "no-method"
        | "swallows-abort"
        | "never-ends";
    };

/** A test that failed, and where. */
export interface Wrong {
  readonly stage: string;
  readonly check: string;
  readonly number: number;
  /** the calls that lead to it; the last one is the tested one */
  readonly calls: readonly string[];
  /** the last answers of the fakes, which the case does not name */
  readonly given?: readonly string[];
  readonly want: Wanted;
  readonly got: Got;
}

/** One line of the process on descriptor 3, as JSON. */
export type FromRunner =
  | { readonly type: "ready" }
  | { readonly type: "at"; readonly calls: readonly string[] }
  | { readonly type: "passed"; readonly stage: string }
  | { readonly type: "wrong"; readonly wrong: Wrong }
  /** the file throws; @property at its line @property source the line that is no JavaScript */
  | ({ readonly type: "unloadable"; readonly text: string } & Partial<SyntaxErrorPlace>)
  /** the file is gone, or what it awaits at its top level never comes */
  | { readonly type: "absent" | "never-loads" }
  | { readonly type: "end" };

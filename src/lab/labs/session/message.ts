import type { TraceEvent } from "../../../trace/events.js";
import type { Evidence } from "../checks/evidence.js";
import type { StateTable } from "../checks/state-table.js";
import type { StepType } from "../format/steps.js";

/** A message of a lab: facts for a renderer, another process or a test. Serializes to JSON. */
export type LabMessage =
  | {
      readonly kind: "lab";
      readonly id: string;
      readonly number: string;
      readonly title: string;
      readonly summary: string;
      readonly minutes: number;
      /** of the lab's clock */
      readonly speed: number;
    }
  | {
      readonly kind: "step";
      readonly id: string;
      readonly type: StepType;
      readonly title: string;
      readonly index: number;
      readonly count: number;
    }
  | { readonly kind: "text"; readonly markdown: string }
  /** a command that the learner is asked to run */
  | {
      readonly kind: "command";
      readonly line: string;
      readonly where: "here" | "elsewhere";
      /** the lab also detects the command's effect from another terminal */
      readonly isNoticed: boolean;
    }
  /** the step's goal is already met */
  | { readonly kind: "done-elsewhere" }
  /** a command that starts now */
  | { readonly kind: "running"; readonly line: string }
  /** folded: how many further lines a long result has */
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr"; readonly text: string; readonly folded?: number }
  /** a fact of the trace of the step's commands, in the learner's language */
  | {
      readonly kind: "trace";
      readonly fact: TraceEvent;
      /** since the step's first command began */
      readonly afterMs: number;
      /** whether the step is about it, or shows it if there is room */
      readonly interest: "about" | "more" | "none";
      /** the lines below its sentence that the step is about; a table has only those rows */
      readonly details: readonly string[];
      /** the lines that the step is about and that may still come */
      readonly awaited: number;
    }
  | { readonly kind: "exit"; readonly code: number }
  | {
      readonly kind: "question";
      readonly choices: readonly { readonly key: string; readonly text: string }[];
      /** the question can concern the past */
      readonly isIncident: boolean;
    }
  /** the step needs one of these */
  | { readonly kind: "needs-answer"; readonly choices: readonly string[] }
  | {
      readonly kind: "answer";
      readonly given: string;
      readonly right: string;
      readonly text: string;
      readonly expected: string;
      /** the author's sentence about a wrong choice */
      readonly mistake?: string;
    }
  /** isMissing: no line has this pattern */
  | { readonly kind: "look"; readonly line: string; readonly isMissing?: true }
  /** `pkg/kubelet/pleg/generic.go relist` */
  | { readonly kind: "upstream"; readonly path: string }
  | {
      readonly kind: "waiting";
      /** "": nothing visible yet */
      readonly seen: string;
      readonly want: string;
      readonly leftMs: number;
      /** the learner can skip it */
      readonly mayStop: boolean;
    }
  /** a wait of the lab itself is over */
  | { readonly kind: "waited" }
  | {
      readonly kind: "verdict";
      readonly ok: boolean;
      /** kubelab has solved the task */
      readonly isShown?: boolean;
      /** "": the command and its output, which the learner sees above */
      readonly seen: string;
      readonly want?: string;
      /** the author's sentence about the learner's mistake */
      readonly mistake?: string;
      /** for the lab's author: the command or pattern behind it */
      readonly raw?: string;
    }
  /** the facts that decided the verdict or the answer before it */
  | ({
      readonly kind: "evidence";
      /** only the last effect of the step's own commands, because the check itself read nothing that decided */
      readonly isOfStep?: boolean;
    } & Evidence)
  | ({ readonly kind: "table" } & StateTable)
  | { readonly kind: "hint"; readonly index: number; readonly count: number; readonly text: string }
  /** kubelab has solved a task for the learner */
  | { readonly kind: "shown"; readonly step: string }
  | { readonly kind: "done"; readonly step: string; readonly hints: number }
  | { readonly kind: "finished"; readonly closing: Readonly<Record<string, string>> };

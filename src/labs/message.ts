import type { StepType } from "./steps.js";

/** What a lab has to tell: facts for a renderer, for another process, for a test. All of it can be written as JSON. */
export type LabMessage =
  | {
      readonly kind: "lab";
      readonly id: string;
      readonly number: string;
      readonly title: string;
      readonly summary: string;
      readonly minutes: number;
      /** lines for another terminal */
      readonly elsewhere: readonly string[];
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
      /** the lab sees what it did, also when it is typed in another terminal */
      readonly isNoticed: boolean;
    }
  /** what the step asks for is there already */
  | { readonly kind: "done-elsewhere" }
  /** a command that begins now */
  | { readonly kind: "running"; readonly line: string }
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr"; readonly text: string }
  | { readonly kind: "exit"; readonly code: number }
  | { readonly kind: "question"; readonly choices: readonly { readonly key: string; readonly text: string }[] }
  /** the step cannot go on without one of these */
  | { readonly kind: "needs-answer"; readonly choices: readonly string[] }
  | { readonly kind: "answer"; readonly given: string; readonly right: string; readonly text: string }
  | { readonly kind: "look"; readonly line: string }
  /** `pkg/kubelet/pleg/generic.go relist` */
  | { readonly kind: "upstream"; readonly path: string }
  | {
      readonly kind: "waiting";
      /** "": there is nothing to see of it */
      readonly seen: string;
      readonly want: string;
      readonly leftMs: number;
      /** the learner may go on without it */
      readonly mayStop: boolean;
    }
  /** a wait of the lab's own is over */
  | { readonly kind: "waited" }
  | { readonly kind: "verdict"; readonly ok: boolean; readonly seen: string; readonly want?: string }
  | { readonly kind: "hint"; readonly index: number; readonly count: number; readonly text: string }
  | { readonly kind: "done"; readonly step: string; readonly hints: number }
  | { readonly kind: "finished"; readonly closing: Readonly<Record<string, string>> };

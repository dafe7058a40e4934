import type { TraceEvent } from "../../trace/events.js";
import type { Clock } from "../../util/clock.js";
import { makeTemporaryFolder, removeOwn } from "../../util/os/temporary-folder.js";
import type { Judgement } from "../chaos/verdict.js";
import { type ChildEnd, type Printed, runChild } from "./child.js";

/** Two minutes of a cluster take a few seconds; without a fact for so long, the learner's part blocks it. */
const PATIENCE_MS = 20_000;
const HEAP_MB = 512;
const MOST_BYTES = 1024 * 1024 * 1024;
/** A run has some hundreds. */
const MOST_FACTS = 20_000;

/** One line of the process of a run on descriptor 3, as JSON. */
export type FromLive =
  | { readonly type: "fact"; readonly event: TraceEvent }
  | { readonly type: "end"; readonly judgements: readonly Judgement[] }
  | { readonly type: "failed"; readonly text: string };

/** A run of a cluster with the learner's part in its node, or without. */
export interface LiveRun {
  readonly facts: readonly TraceEvent[];
  /** undefined: the run has no end */
  readonly judgements: readonly Judgement[] | undefined;
  /** why it has no end */
  readonly failed: string | undefined;
  readonly end: ChildEnd;
  readonly printed: Printed;
}

/**
 * Runs a command line of this program that plays a task's scenario, in a process of its own with limits.
 * @param command the program and its words
 * @param file the learner's; empty: kubelab's own part runs. The cluster starts before it is known
 */
export async function playLive(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  command: readonly string[],
  file: string | Promise<string>,
): Promise<LiveRun> {
  // Whatever a killed run leaves behind is below it.
  const folder = await makeTemporaryFolder("build");
  const facts: TraceEvent[] = [];
  let judgements: readonly Judgement[] | undefined;
  let failed: string | undefined;
  const take = (line: string) => {
    const message = JSON.parse(line) as FromLive;
    if (message.type === "end") judgements = message.judgements;
    else if (message.type === "failed") failed = message.text;
    else if (facts.length < MOST_FACTS) facts.push(message.event);
  };
  try {
    const { end, printed } = await runChild(
      {
        command,
        input: file,
        env: { TMPDIR: folder, HOME: folder, XDG_STATE_HOME: folder, PATH: "/usr/bin:/bin", LANG: "C.UTF-8" },
        cwd: folder,
        patienceMs: PATIENCE_MS,
        heapMb: HEAP_MB,
        mostBytes: MOST_BYTES,
      },
      clock,
      take,
      signal,
    );
    return { facts, judgements, failed, end, printed };
  } finally {
    await removeOwn(folder);
  }
}

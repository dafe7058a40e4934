import { z } from "zod";
import type { TraceEvent } from "../../trace/events.js";
import type { TraceSink } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { parseScenario, type Scenario } from "./scenario.js";

/** What the first fact of a simulation's trace carries in its field `run`: all that it takes to run it again. */
const HEAD = z.object({
  /** as it was typed, for people: `kubelab chaos run node-partition --seed 1` */
  command: z.string(),
  /** of kubelab */
  version: z.string(),
  seed: z.number().int().min(0),
  /** when its clock began, Unix ms */
  startMs: z.number().int().min(0),
  /** the file of the scenario, whole: objects, faults and expectations with their virtual times are all that came from outside */
  scenario: z.string(),
});

export type Head = z.infer<typeof HEAD>;

/** A simulation that can be run again. */
export interface Recording {
  readonly head: Head;
  readonly scenario: Scenario;
  readonly facts: readonly TraceEvent[];
}

/** After that the certificates of the cluster would have expired: they are valid for a year, and TLS runs on the machine's time. */
const MOST_DAYS = 300;
const DAY_MS = 86_400_000;
const ONCE_MORE = "Record it again: kubelab chaos run SCENARIO --seed N --trace FILE.ndjson";

/** Passes facts on, the first one with the head of their recording. */
export function withHead(sink: TraceSink, head: Head): Pick<TraceSink, "write"> {
  let isFirst = true;
  return {
    write(event) {
      sink.write(isFirst ? Object.assign({ run: head }, event) : event);
      isFirst = false;
    },
  };
}

/**
 * Opens the facts of a trace as a recording.
 * @param file its name, for messages
 * @param version of this kubelab
 * @throws LabError REFUSED for a trace that cannot be replayed, with the reason
 */
export function openRecording(facts: readonly TraceEvent[], file: string, version: string, nowMs: number): Recording {
  const refused = (why: string, hint: string) => new LabError("FAILED", `${file} cannot be replayed: ${why}`, hint);
  const run = (facts[0] as { readonly run?: unknown } | undefined)?.run;
  if (run === undefined) {
    throw refused(
      "it was recorded in real time, without a seed, and the next run would have other IDs and times",
      "Only a trace that kubelab chaos run wrote can be replayed. Compare two others: kubelab trace diff A B",
    );
  }
  const { data: head } = HEAD.safeParse(run);
  if (head === undefined) throw refused("the head of its first fact is damaged", ONCE_MORE);
  if (head.version !== version) {
    const why = `kubelab ${head.version} recorded it, and this is kubelab ${version}, whose parts may act otherwise`;
    throw refused(why, `Replay it with that version: npx kubelab@${head.version} replay ${file}`);
  }
  const days = (nowMs - head.startMs) / DAY_MS;
  if (days > MOST_DAYS || days < -1 / 24) {
    const why = days < 0 ? "its time is later than now" : `it is ${Math.floor(days)} days old`;
    throw refused(`${why}, and the certificates of its cluster would not be valid`, ONCE_MORE);
  }
  return { head, scenario: parseScenario(head.scenario, `the scenario in ${file}`), facts };
}

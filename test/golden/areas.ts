import { readFileSync } from "node:fs";
import { type FactLine, isCompared, replayFact } from "./facts.js";
import type { GoldenLine } from "./golden.js";
import { type PlegScenario, replayPleg } from "./pleg.js";
import { type CacheScenario, replayCache } from "./podcache.js";
import { type PodWorkersScenario, replayPodWorkers } from "./podworkers.js";
import {
  type ConditionRow,
  type PhaseRow,
  replayCondition,
  replayPhase,
  replayStatus,
  type StatusScenario,
} from "./status.js";

/** One kind of golden data, and how it is replayed. A new chapter adds a row. */
export interface Area {
  readonly name: string;
  /** @param file path below the golden folder: `pleg/random.jsonl` */
  readonly matches: (file: string) => boolean;
  /** default: one scenario or row per line @param path of the whole file */
  readonly lines?: (path: string) => readonly GoldenLine[];
  /** @returns where our code differs from the recording; empty: nowhere */
  readonly replay: (line: GoldenLine) => Promise<readonly string[]>;
}

/** A file of the folder `status`, by its name: `manager`, `manager-2`, ... */
const ofStatus = (name: string) => (file: string) => new RegExp(`^status/${name}[^/]*\\.jsonl$`).test(file);

const inFolder = (folder: string) => (file: string) => file.startsWith(`${folder}/`) && file.endsWith(".jsonl");

export const AREAS: readonly Area[] = [
  { name: "pleg", matches: inFolder("pleg"), replay: (line) => replayPleg(line as PlegScenario) },
  { name: "podcache", matches: inFolder("podcache"), replay: (line) => replayCache(line as CacheScenario) },
  {
    name: "podworkers",
    matches: inFolder("podworkers"),
    replay: (line) => replayPodWorkers(line as PodWorkersScenario),
  },
  { name: "status", matches: ofStatus("manager"), replay: (line) => replayStatus(line as StatusScenario) },
  { name: "phase", matches: ofStatus("phase"), replay: (line) => replayPhase(line as unknown as PhaseRow) },
  {
    name: "conditions",
    matches: ofStatus("conditions"),
    replay: (line) => replayCondition(line as unknown as ConditionRow),
  },
  {
    name: "facts",
    matches: (file) => file === "facts.json",
    lines: factLines,
    replay: (line) => replayFact(line as FactLine),
  },
];

/** Those that our code can be asked about. */
export function factLines(path: string): readonly FactLine[] {
  const { facts } = JSON.parse(readFileSync(path, "utf8")) as { readonly facts: readonly FactLine[] };
  return facts.filter(isCompared);
}

import type { GoldenLine } from "./golden.js";
import { type PlegScenario, replayPleg } from "./pleg.js";
import { type CacheScenario, replayCache } from "./podcache.js";
import { type PodWorkersScenario, replayPodWorkers } from "./podworkers.js";

/** One kind of golden data, and how it is replayed. A new chapter adds a row. */
export interface Area {
  readonly name: string;
  /** @param file path below the golden folder: `pleg/random.jsonl` */
  readonly matches: (file: string) => boolean;
  /** @returns where our code differs from what was recorded; none: it does the same */
  readonly replay: (line: GoldenLine) => Promise<readonly string[]>;
}

const inFolder = (folder: string) => (file: string) => file.startsWith(`${folder}/`) && file.endsWith(".jsonl");

export const AREAS: readonly Area[] = [
  { name: "pleg", matches: inFolder("pleg"), replay: (line) => replayPleg(line as PlegScenario) },
  { name: "podcache", matches: inFolder("podcache"), replay: (line) => replayCache(line as CacheScenario) },
  {
    name: "podworkers",
    matches: inFolder("podworkers"),
    replay: (line) => replayPodWorkers(line as PodWorkersScenario),
  },
];

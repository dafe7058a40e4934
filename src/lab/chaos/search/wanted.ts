import { z } from "zod";
import { LabError } from "../../../util/errors.js";
import { INVARIANT_NAMES, type InvariantName } from "../invariants.js";
import { readScenarioFile } from "../library.js";
import { CONDITION, parseChecked } from "../scenario.js";

const WANTED = z
  .strictObject({
    invariants: z.array(z.enum(INVARIANT_NAMES)).default([]),
    never: z.array(CONDITION).default([]).describe("conditions that no run may meet"),
  })
  .refine(({ invariants, never }) => invariants.length + never.length > 0, {
    path: ["invariants"],
    message: "expected an invariant, or a condition under never",
  });

/** What each run of a search must keep. */
export interface Wanted {
  readonly invariants: readonly InvariantName[];
  /** conditions that must not be met */
  readonly never: readonly string[];
}

/**
 * @param word `default`: all invariants; else a file
 * @throws LabError BAD_FILE for a file that cannot be read or is wrong
 */
export async function readWanted(word: string, cwd: string): Promise<Wanted> {
  if (word === "default") return { invariants: INVARIANT_NAMES, never: [] };
  if (!/[/\\.]/.test(word)) {
    throw new LabError(
      "USAGE",
      `--invariants takes default or a file, not ${JSON.stringify(word)}`,
      `A file is written ./${word}.`,
    );
  }
  return parseChecked(WANTED, await readScenarioFile(word, cwd), word, "invariants");
}

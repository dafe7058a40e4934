import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { Explored, Failure } from "../../lab/chaos/search/explore.js";
import { LabError, messageOf } from "../../util/errors.js";
import { counted } from "../../util/text/counted.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addPlainOptions } from "../cli/options.js";
import { parseSeed } from "./seed.js";

const MOST_RUNS = 100_000;

interface ExploreFlags {
  readonly invariants: string;
  readonly runs: number;
  readonly seed: number;
  readonly keep: string;
}

/** `kubelab chaos explore`: random scenarios against invariants. */
export function addExploreCommand(chaos: Command, context: CliContext): void {
  const explore = addPlainOptions(
    chaos
      .command("explore")
      .description(
        "run random scenarios against invariants; a failing one is shrunk and kept as a file for chaos run; Ctrl-C ends it with what it has found",
      ),
  )
    .option(
      "--invariants <what>",
      "default (all of chaos list), or a YAML file; docs/chaos.md has the format",
      "default",
    )
    .option("--runs <number>", "how many scenarios", parseRuns, 20)
    .option("--seed <number>", "of the first scenario; the next ones have the next numbers", parseSeed, 1)
    .option("--keep <folder>", "where the files of failing scenarios are written", ".")
    .action((flags: ExploreFlags) => runExplore(context, flags));
  addExamples(explore, "kubelab chaos explore --runs 100 --seed 7", "kubelab chaos explore --invariants ./mine.yaml");
}

async function runExplore(context: CliContext, { invariants, runs, seed, keep }: ExploreFlags): Promise<void> {
  const [{ explore }, { readWanted }, { scenarioText }] = await Promise.all([
    import("../../lab/chaos/search/explore.js"),
    import("../../lab/chaos/search/wanted.js"),
    import("../../lab/chaos/search/scenario-text.js"),
  ]);
  const wanted = await readWanted(invariants, context.cwd);
  const files = new Map<Failure, string>();
  using line = context.progress("exploring");
  const explored = await explore(
    { context },
    {
      wanted,
      runs,
      seed,
      onProgress: ({ runs: done, failures }, doing) =>
        line.update(
          `${done} of ${runs} runs, ${failures.length} failed; ${doing.shrinking ? "shrinking" : "running"} seed ${doing.seed}`,
        ),
      onFailure: async (failure) => {
        const file = join(keep, `chaos-${failure.seed}.yaml`);
        await keepFile(resolve(context.cwd, file), scenarioText(failure.scenario));
        files.set(failure, file);
        context.notice(failureText(failure, file));
      },
    },
  );
  line.stop();
  context.print({ text: headingOf(explored, seed), json: jsonOf(explored, seed, files) });
  context.signal.throwIfAborted();
  if (explored.failures.length > 0) context.exitWith(1);
}

async function keepFile(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((error: unknown) => {
    throw new LabError(
      "BAD_FILE",
      `cannot write ${file}: ${messageOf(error)}`,
      "Give a folder that exists with --keep.",
    );
  });
}

function headingOf({ runs, failures }: Explored, seed: number): string {
  const seeds = runs === 0 ? "" : ` (seeds ${seed} to ${seed + runs - 1})`;
  return `${counted(runs, "run")}${seeds}: ${failures.length === 0 ? "every invariant holds" : `${failures.length} failed`}`;
}

function failureText({ seed, judgement, isRepeatable }: Failure, file: string): string {
  const again = isRepeatable
    ? `kubelab chaos run ${file}`
    : `a second run did not fail; ${file} has the whole scenario`;
  return `seed ${seed}: ${judgement.condition}: ${judgement.fact ?? "at no time"}; ${again}`;
}

function jsonOf({ runs, failures }: Explored, seed: number, files: ReadonlyMap<Failure, string>) {
  return {
    seed,
    runs,
    failures: failures.map((failure) => ({
      seed: failure.seed,
      condition: failure.judgement.condition,
      fact: failure.judgement.fact,
      isRepeatable: failure.isRepeatable,
      file: files.get(failure),
    })),
  };
}

function parseRuns(text: string): number {
  const runs = Number(text);
  if (Number.isInteger(runs) && runs >= 1 && runs <= MOST_RUNS) return runs;
  throw new InvalidArgumentError(`expected a whole number from 1 to ${MOST_RUNS}.`);
}

import { type Command, InvalidArgumentError } from "commander";
import { FAULTS } from "../../lab/chaos/faults.js";
import { LabError, messageOf } from "../../util/errors.js";
import { readIfThere } from "../../util/os/files.js";
import { SeededRandom } from "../../util/seeded-random.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addPlainOptions } from "../cli/options.js";

interface RunFlags {
  readonly seed: number;
}

/** `kubelab chaos run | list`: scenarios of faults on an embedded cluster in virtual time. */
export function addChaosCommand(chaos: Command, context: CliContext): void {
  chaos.description(
    "Runs a file of objects, faults and expectations on an embedded cluster of its own, in virtual time. The verdict has one line per expectation.",
  );
  const run = addPlainOptions(chaos.command("run").description("run a scenario; exit code 1 if an expectation fails"))
    .argument("<file>", "a YAML file; docs/chaos.md has the format")
    .option("--seed <number>", "of names, IDs and jitter of the cluster", parseSeed, 1)
    .action((file: string, { seed }: RunFlags) => runFile(context, file, seed));
  addExamples(run, "kubelab chaos run scenarios/node-partition.yaml", "kubelab chaos run my.yaml --seed 7 --json");
  addPlainOptions(chaos.command("list").description("list the faults, and what breaks like that in real life")).action(
    () => {
      const faults = Object.entries(FAULTS).map(([name, { inRealLife }]) => ({ name, inRealLife }));
      const text = faults.map(({ name, inRealLife }) => `${name.padEnd(18)} ${inRealLife}`).join("\n");
      context.print({ text, json: faults });
    },
  );
}

/** @throws LabError BAD_FILE */
async function runFile(context: CliContext, file: string, seed: number): Promise<void> {
  const [{ parseScenario }, { runScenario }, { judgementText }] = await Promise.all([
    import("../../lab/chaos/scenario.js"),
    import("../../lab/chaos/run.js"),
    import("../../lab/chaos/verdict.js"),
  ]);
  const scenario = parseScenario(await readScenario(context, file), file);
  using _line = context.progress(`running ${file}`);
  const judgements = await runScenario({ context, random: new SeededRandom(seed) }, scenario);
  const holds = judgements.every((one) => one.holds);
  const heading = `${scenario.title} (seed ${seed}): ${holds ? "every expectation holds" : "an expectation fails"}`;
  context.print({
    text: [heading, ...judgements.map(judgementText)].join("\n"),
    json: { title: scenario.title, seed, holds, judgements },
  });
  if (!holds) context.exitWith(1);
}

async function readScenario({ cwd }: CliContext, file: string): Promise<string> {
  const { resolve } = await import("node:path");
  const bad = (why: string) => new LabError("BAD_FILE", `cannot read ${file}: ${why}`, "Check the path.");
  const text = await readIfThere(resolve(cwd, file)).catch((error: unknown) => {
    throw bad(messageOf(error));
  });
  if (text === undefined) throw bad("no such file");
  return text;
}

function parseSeed(text: string): number {
  const seed = Number(text);
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new InvalidArgumentError("expected a whole number from 0.");
}

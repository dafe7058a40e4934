import type { Command } from "commander";
import type { RealParts } from "../../lab/chaos/real/check.js";
import type { Scenario } from "../../lab/chaos/scenario.js";
import type { TraceEvent } from "../../trace/events.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { languageOf } from "../../util/i18n/language.js";
import { SeededRandom } from "../../util/seeded-random.js";
import { wrap } from "../../util/text/text-width.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addPlainOptions, parsePath } from "../cli/options.js";
import { TRACE_ENDINGS } from "../cli/trace-endings.js";
import { addExploreCommand } from "./explore.js";
import { parseSeed } from "./seed.js";

/** Of the names of faults and scenarios. */
const NAME_COLUMNS = 31;

interface RunFlags {
  readonly seed?: number;
  readonly junit?: true;
  readonly cri?: string;
  readonly kubeconfig?: string;
  readonly yes?: true;
  readonly trace?: string;
  readonly json?: true;
}

/** `kubelab chaos run | list`: scenarios of faults on an embedded cluster in virtual time. */
export function addChaosCommand(chaos: Command, context: CliContext): void {
  chaos.description(
    "Runs a scenario of objects, faults and expectations on an embedded cluster of its own, in virtual time. The verdict has one line per expectation.",
  );
  const run = addPlainOptions(chaos.command("run").description("run a scenario; exit code 1 if an expectation fails"))
    .argument("<scenario>", "the name of a ready one, or a YAML file; docs/chaos.md has the format")
    .option("--seed <number>", "of names, IDs and jitter of the cluster; default: the file's, or 1", parseSeed)
    .option("--junit", "the verdict as JUnit's XML")
    .option("--cri <endpoint>", "play on this real container runtime, through a proxy with the faults, in real time")
    .option("--kubeconfig <file>", "play on this cluster, through a proxy with the faults, in real time", parsePath)
    .option("-y, --yes", "do not ask before a real runtime or cluster is changed")
    .option("-o, --trace <file>", `also write the trace to this file (${TRACE_ENDINGS})`, parsePath)
    .action((word: string, flags: RunFlags) => runNamed(context, word, flags, String(chaos.version())));
  addExamples(
    run,
    "kubelab chaos run node-partition",
    "kubelab chaos run my.yaml --seed 7 --junit > result.xml",
    "kubelab chaos run my.yaml --yes --cri unix:///run/containerd/containerd.sock",
    "kubelab chaos run half-open-watch --yes --kubeconfig kind.conf",
  );
  addExploreCommand(chaos, context);
  addPlainOptions(
    chaos
      .command("list")
      .description("list the faults, what breaks like that in real life, the invariants, and the ready scenarios"),
  ).action(() => list(context));
  const schema = chaos.command("schema").description("print the JSON schema of scenario files, for editors");
  schema.action(async () => {
    const { scenarioSchema } = await import("../../lab/chaos/json-schema.js");
    const json = scenarioSchema();
    context.print({ text: JSON.stringify(json, null, 2), json });
  });
  addExamples(schema, "kubelab chaos schema > scenario.schema.json");
}

async function runNamed(context: CliContext, word: string, flags: RunFlags, version: string): Promise<void> {
  const { seed: given, junit, json, trace, cri } = flags;
  if (junit === true && json === true) {
    throw new LabError("USAGE", "--json and --junit exclude each other", "Give one of them.");
  }
  const [
    { openScenario },
    { runScenario, wholeSecond },
    { withHead },
    { withTraceFile },
    { judgementText, verdictXml },
  ] = await Promise.all([
    import("../../lab/chaos/library.js"),
    import("../../lab/chaos/run.js"),
    import("../../lab/chaos/recording.js"),
    import("../cli/trace-file.js"),
    import("../../lab/chaos/verdict.js"),
  ]);
  const { scenario, text } = await openScenario(word, context.cwd);
  const seed = given ?? scenario.seed ?? 1;
  await using real = await openReal(context, scenario, flags);
  const where = real === undefined ? "" : ` in real time on ${real.names.join(" and ")}`;
  using _line = context.progress(`running ${word}${where}`);
  const deps = { context, random: new SeededRandom(seed), ...defined({ real: real?.parts }) };
  const startMs = wholeSecond();
  const head = { command: `kubelab chaos run ${word} --seed ${seed}`, version, seed, startMs, scenario: text };
  const judgements = await withTraceFile(context, trace, (sink) => {
    const recorded = sink && (real === undefined ? withHead(sink, head) : sink);
    const onFact = recorded && ((fact: TraceEvent) => recorded.write(fact));
    return runScenario({ ...deps, ...defined({ onFact }) }, scenario, { startMs });
  });
  const holds = judgements.every((one) => one.holds);
  const heading = `${scenario.title} (seed ${seed}${where && `,${where}`}): ${holds ? "every expectation holds" : "an expectation fails"}`;
  context.print({
    text: junit === true ? verdictXml(heading, judgements) : [heading, ...judgements.map(judgementText)].join("\n"),
    json: {
      title: scenario.title,
      seed,
      ...defined({ cri, server: real?.parts.cluster?.cluster.config.server }),
      holds,
      judgements,
    },
  });
  if (!holds) context.exitWith(1);
}

interface OpenedParts extends AsyncDisposable {
  readonly parts: RealParts;
  /** their addresses */
  readonly names: readonly string[];
}

/**
 * Opens the real parts that flags name, once the scenario can be played on them and the user agrees.
 * @returns undefined if all parts are embedded
 * @throws LabError USAGE, DECLINED; as `openOwnCluster`
 */
async function openReal(
  context: CliContext,
  scenario: Scenario,
  { cri, kubeconfig, yes }: RunFlags,
): Promise<OpenedParts | undefined> {
  if (cri === undefined && kubeconfig === undefined) return undefined;
  const { checkForCluster, checkForRuntime } = await import("../../lab/chaos/real/check.js");
  if (cri !== undefined) {
    checkForRuntime(scenario);
    const question = `A kubelet will work with ${cri}, through a proxy that breaks its calls: it ends all other pods there. Continue?`;
    await agreeTo(context, question, yes, cri, "Without --cri pods run in an embedded runtime.");
  }
  const runtimes = cri === undefined ? [] : [cri];
  if (kubeconfig === undefined) return { parts: defined({ cri }), names: runtimes, async [Symbol.asyncDispose]() {} };
  checkForCluster(scenario);
  const [{ openOwnCluster }, { sayIn }] = await Promise.all([
    import("../../lab/labs/environment/own/cluster.js"),
    import("../../util/i18n/catalogue.js"),
  ]);
  const target = { kubeconfig, ...defined({ yes }) };
  const say = sayIn(languageOf(context.env));
  const cluster = await openOwnCluster(context, target, say);
  try {
    const { server } = cluster.config;
    const question = `Nodes and objects of the scenario will be made on ${server}, and removed at its end; meanwhile other pods can come to its nodes. Continue?`;
    await agreeTo(context, question, yes, server, "Without --kubeconfig the API server is embedded.");
    const parts = { ...defined({ cri }), cluster: { context, target, say, cluster } };
    return { parts, names: [...runtimes, server], [Symbol.asyncDispose]: () => cluster.close() };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/** @throws LabError DECLINED */
async function agreeTo(
  context: CliContext,
  question: string,
  yes: true | undefined,
  where: string,
  hint: string,
): Promise<void> {
  if (await context.confirm(question, { ...defined({ yes }), flag: "--yes" })) return;
  throw new LabError("DECLINED", `nothing was done with ${where}`, hint);
}

/** What can break, and what is ready to be run. */
async function list(context: CliContext): Promise<void> {
  const [{ FAULTS }, { INVARIANTS }, { readyScenarios }] = await Promise.all([
    import("../../lab/chaos/faults.js"),
    import("../../lab/chaos/invariants.js"),
    import("../../lab/chaos/library.js"),
  ]);
  const faults = Object.entries(FAULTS).map(([name, { inRealLife }]) => ({ name, inRealLife }));
  const invariants = Object.entries(INVARIANTS).map(([name, meaning]) => ({ name, meaning }));
  const scenarios = await readyScenarios();
  const width = Math.max(40, (context.streams.stdout.columns ?? 200) - NAME_COLUMNS);
  const row = (name: string, text: string) =>
    wrap(text, width).map((line, i) => (i === 0 ? `  ${name}` : "").padEnd(NAME_COLUMNS) + line);
  const text = [
    "Faults, and what breaks like that in real life:",
    ...faults.flatMap(({ name, inRealLife }) => row(name, inRealLife)),
    "",
    "Invariants, for a scenario's invariants and kubelab chaos explore:",
    ...invariants.flatMap(({ name, meaning }) => row(name, meaning)),
    "",
    "Ready scenarios, for kubelab chaos run NAME:",
    ...scenarios.flatMap(({ name, title }) => row(name, title)),
  ].join("\n");
  context.print({ text, json: { faults, invariants, scenarios } });
}

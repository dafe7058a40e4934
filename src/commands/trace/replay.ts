import { type Command, InvalidArgumentError } from "commander";
import type { Step } from "../../lab/chaos/replay.js";
import { startMs } from "../../trace/graph/graph.js";
import { asItIs } from "../../trace/translated.js";
import { LabError } from "../../util/errors.js";
import { hasUnicode } from "../cli/colour.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addPlainOptions, parseDuration, parsePath } from "../cli/options.js";
import { TRACE_ENDINGS } from "../cli/trace-endings.js";
import { loadTrace } from "./load.js";
import { type Columns, differenceText, whatIfText } from "./side-by-side.js";

interface ReplayFlags {
  readonly from?: Step;
  readonly change?: string;
  readonly all?: true;
  readonly trace?: string;
}

/** `kubelab replay FILE`: the same run again, or the run with one thing changed. */
export function addReplayCommand(command: Command, context: CliContext): void {
  addPlainOptions(
    command.description(
      "Runs a simulation again that `kubelab chaos run --trace FILE.ndjson` recorded, and compares: the same story, or the first difference (exit code 1). With --from and --change the run goes on differently from a step, and both are shown side by side.",
    ),
  )
    .argument("<file>", "the .ndjson trace of kubelab chaos run; its first fact has the seed and the scenario")
    .option(
      "--from <step>",
      "where the run changes: 45s after the scenario began, or the number of a fact, 1200",
      parseStep,
    )
    .option(
      "--change <what>",
      "a fault ('partition node=node-1 how=drop for=20s'), 'no FAULT', or 'renew-lease node=NODE'",
    )
    .option("--all", "every fact that differs; default: the events and states that matter, at most 40")
    .option("-o, --trace <file>", `also write the trace of the new run to this file (${TRACE_ENDINGS})`, parsePath)
    .action((file: string, flags: ReplayFlags) => runReplay(context, file, flags, String(command.version())));
  addExamples(
    command,
    "kubelab replay run.ndjson",
    "kubelab replay run.ndjson --from 40s --change 'renew-lease node=node-1'",
    "kubelab replay run.ndjson --from 30s --change 'no partition' --trace instead.ndjson",
  );
}

function parseStep(text: string): Step {
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return { fact: Number(text) };
  try {
    return { sinceMs: parseDuration(text) };
  } catch {
    throw new InvalidArgumentError("expected a time such as 45s, or the number of a fact from 1.");
  }
}

async function runReplay(context: CliContext, file: string, flags: ReplayFlags, version: string): Promise<void> {
  const { from, change: changeText, trace } = flags;
  if ((from === undefined) !== (changeText === undefined)) {
    throw new LabError(
      "USAGE",
      `${from === undefined ? "--change" : "--from"} needs ${from === undefined ? "--from" : "--change"}`,
      "Give both, or neither: then the run is compared.",
    );
  }
  const [{ openRecording }, { replay, whatIf }, { parseChange }, { wholeSecond }, { withTraceFile }] =
    await Promise.all([
      import("../../lab/chaos/recording.js"),
      import("../../lab/chaos/replay.js"),
      import("../../lab/chaos/change.js"),
      import("../../lab/chaos/run.js"),
      import("../cli/trace-file.js"),
    ]);
  const recording = openRecording(await loadTrace(context, file), file, version, wholeSecond());
  const [first] = recording.facts;
  const columns: Columns = {
    width: context.streams.stdout.columns ?? 160,
    unicode: hasUnicode(context.env),
    zeroMs: first === undefined ? 0 : startMs(first),
    isAll: flags.all === true,
    say: context.resultSay ?? asItIs,
  };
  const change = changeText === undefined ? undefined : parseChange(changeText, recording.scenario);
  using line = context.progress(`running ${recording.head.command} again`);
  await withTraceFile(context, trace, async (sink) => {
    const deps = { context, ...(sink === undefined ? {} : { onFact: sink.write.bind(sink) }) };
    if (from !== undefined && change !== undefined) {
      const result = await whatIf(deps, recording, from, change);
      line.stop();
      context.print({
        text: whatIfText(result, changeText ?? "", { ...columns, zeroMs: result.zeroMs }),
        json: result,
      });
      return;
    }
    const { facts, difference } = await replay(deps, recording);
    line.stop();
    const isSame = difference === undefined;
    const same = columns.say(`The same story: ${facts} facts of ${recording.head.command}.`);
    context.print({
      text: isSame ? same : differenceText(difference, columns),
      json: { isSame, facts, recordedFacts: recording.facts.length, ...(isSame ? {} : { difference }) },
    });
    if (!isSame) context.exitWith(1);
  });
}

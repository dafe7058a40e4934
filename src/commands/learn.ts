import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import { parseSpeed } from "../cli/options.js";
import type { Language } from "../labs/text.js";
import { LabError } from "../util/errors.js";
import { addExamples } from "./examples.js";
import { type LearnEnvironment, labNamed, openLearn, parseLanguage } from "./learn/environment.js";
import type { RealTarget } from "./learn/real-place.js";
import type { UnattendedOptions } from "./learn/unattended.js";

interface LearnFlags {
  readonly lang?: Language;
  readonly color: boolean;
  readonly speed?: number;
  readonly seed?: number;
  readonly yes?: boolean;
  readonly answers?: string;
  readonly detach?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly real?: boolean;
  readonly json?: boolean;
  readonly junit?: boolean;
}

/** `kubelab learn`: guided walkthroughs, with a menu on a terminal and with subcommands everywhere. */
export function addLearnCommand(program: Command, context: CliContext): void {
  const learn = program
    .command("learn")
    .summary("guided walkthroughs: do, predict, observe, check")
    .description("Guided walkthroughs on the embedded cluster. Without a subcommand: a menu, on a terminal.");
  addExamples(
    learn,
    "kubelab learn",
    "kubelab learn start heartbeats --speed 20",
    "kubelab learn start heartbeats --yes --answers answers.yaml",
    "kubelab learn report --junit > report.xml",
  );
  learn
    .configureHelp({ showGlobalOptions: true })
    .addOption(new Option("--lang <language>", "en or zh (default: from LANG)").argParser(parseLang))
    .addOption(new Option("--speed <factor>", "run the lab's clock so many times as fast").argParser(parseSpeed))
    .addOption(new Option("--seed <number>", "choose the lab's values by this number").argParser(parseSeed))
    .addOption(new Option("--no-color", "plain text (also: NO_COLOR)"));
  const open =
    (run: (env: LearnEnvironment, flags: LearnFlags, word: string) => Promise<void>) =>
    async (...args: unknown[]) => {
      const word = typeof args[0] === "string" ? args[0] : "";
      const own = args.find((one): one is Partial<LearnFlags> => typeof one === "object" && one !== null);
      // The parent takes its options wherever they stand in the line.
      const flags: LearnFlags = { ...own, ...learn.opts<LearnFlags>() };
      const env = await openLearn(context, flags);
      try {
        await run(env, flags, word);
      } finally {
        const kept = env.store.keptAs;
        if (kept !== undefined) context.streams.stderr.write(`${env.say("progressBroken", { kept })}\n`);
      }
    };
  const add = (name: string, description: string) => learn.command(name).description(description);

  learn.action(open(showMenu));
  add("list", "list the labs, and how far you are")
    .option("--json", "print the result as one JSON document on stdout")
    .action(open(async (env, flags) => (await import("./learn/listing.js")).listLabs(env, flags.json === true)));
  add("start", "begin a lab, or go on with it")
    .argument("<id>", "id or number of a lab")
    .option("--yes", "ask nothing: run every command, solve every check")
    .option("--answers <file>", "choices of predictions for --yes: one line `step: choice` each")
    .option("--kubeconfig <file>", "play it on the real cluster of this kubeconfig")
    .option("--context <name>", "play it on the real cluster of this context")
    .option("--real", "play it on the real cluster that kubectl would use")
    .option("--detach", "leave it in the background: go on with next, check, hint, solution")
    .action(open(startLab));
  learn
    .command("serve", { hidden: true })
    .argument("<id>")
    .action(
      open(async (env, flags, id) =>
        (await import("./learn/background.js")).serveLab(env, labNamed(env, id), embeddedOnly(flags)),
      ),
    );
  learn
    .command("kubectl", { hidden: true })
    .argument("[words...]")
    .action(async (words: readonly string[]) =>
      (await import("./learn/kubectl/run-kubectl.js")).runKubectl(context, words),
    );
  add("next", "do the present step of the lab under way, show the next")
    .argument("[choice]", "answer to a prediction")
    .action(open(async (env, _flags, choice) => (await import("./learn/operations.js")).next(env, choice)));
  for (const [name, text] of [
    ["check", "ask whether the present step is done"],
    ["hint", "the next hint for the present step"],
    ["solution", "let the present step be done for you"],
    ["status", "show the present step"],
    ["stop", "end the lab under way; its progress is kept"],
  ] as const) {
    add(name, text).action(open(async (env) => (await import("./learn/operations.js"))[name](env)));
  }
  add("speed", "change the speed of time of the lab under way")
    .argument("<factor>", "how many times as fast")
    .action(open(async (env, _flags, factor) => (await import("./learn/operations.js")).speed(env, factor)));
  add("reset", "forget the progress in one lab, or in all")
    .argument("[id]")
    .action(open(async (env, _flags, id) => (await import("./learn/operations.js")).reset(env, id)));
  add("report", "print the progress for a teacher")
    .option("--json", "as one JSON document (the default)")
    .option("--junit", "as JUnit XML")
    .action(open(async (env, flags) => (await import("./learn/listing.js")).report(env, flags.junit === true)));
  add("export", "write the progress to a file")
    .argument("<file>")
    .action(open(async (env, _flags, file) => (await import("./learn/transfer.js")).exportProgress(env, file)));
  add("import", "take over progress from such a file")
    .argument("<file>")
    .action(open(async (env, _flags, file) => (await import("./learn/transfer.js")).importProgress(env, file)));
  add("check-labs", "check the labs of a folder of your own")
    .argument("<folder>")
    .action(open(async (env, _flags, folder) => (await import("./learn/check-labs.js")).checkLabs(env, folder)));
}

async function showMenu(env: LearnEnvironment, flags: LearnFlags): Promise<void> {
  const { runMenu } = await import("./learn/interactive.js");
  await runMenu(env, embeddedOnly(flags));
}

async function startLab(env: LearnEnvironment, given: LearnFlags, word: string): Promise<void> {
  const lab = labNamed(env, word);
  const others = embeddedOnly(given);
  const target = realTarget(given);
  const flags = target === undefined ? others : { ...others, real: target };
  if (target !== undefined) await mayBeReal(env, lab.id);
  if (flags.yes === true) {
    const { runUnattended } = await import("./learn/unattended.js");
    const options: UnattendedOptions = flags.answers === undefined ? flags : { ...flags, answersFile: flags.answers };
    return runUnattended(env, lab, options);
  }
  if (flags.answers !== undefined) {
    throw new LabError("USAGE", env.say("answersNeedYes"), env.say("answersNeedYesHint"));
  }
  const { canAsk } = await import("./learn/prompt.js");
  if (target !== undefined && (flags.detach === true || !canAsk(env))) {
    throw new LabError("USAGE", env.say("realNeedsTerminal"), env.say("needsEmbeddedHint", { id: lab.id }));
  }
  if (flags.detach === true || !canAsk(env)) {
    const { startInBackground } = await import("./learn/background.js");
    await startInBackground(env, lab, flags);
    const { status } = await import("./learn/operations.js");
    return status(env);
  }
  const { runLab } = await import("./learn/interactive.js");
  return runLab(env, lab, flags);
}

/** @throws LabError USAGE for a lab that needs the embedded cluster */
async function mayBeReal({ library, say }: LearnEnvironment, id: string): Promise<void> {
  const lab = await library.load(id);
  if (lab?.definition.cluster === "any") return;
  throw new LabError("USAGE", say("needsEmbedded", { id }), say("needsEmbeddedHint", { id }));
}

function embeddedOnly({ real: _real, ...flags }: LearnFlags): Omit<LearnFlags, "real"> {
  return flags;
}

/** undefined: none of the flags names a cluster of the learner's own */
function realTarget({ kubeconfig, context, real, yes }: LearnFlags): RealTarget | undefined {
  if (kubeconfig === undefined && context === undefined && real !== true) return undefined;
  return {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(yes === undefined ? {} : { yes }),
  };
}

function parseLang(text: string): Language {
  const language = parseLanguage(text);
  if (language === undefined) throw new InvalidArgumentError("expected en or zh.");
  return language;
}

function parseSeed(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a number of up to nine digits.");
}

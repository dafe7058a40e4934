import { type Command, InvalidArgumentError } from "commander";
import { factorOf } from "../../lab/labs/environment/speed.js";
import { findLab } from "../../lab/labs/format/library.js";
import { type MessageKey, sayIn } from "../../util/i18n/catalogue.js";
import { languageOf } from "../../util/i18n/language.js";
import { LocalizedError, localized } from "../../util/i18n/message-error.js";
import { nearest } from "../../util/text/nearest.js";
import type { CliContext } from "../cli/context.js";
import { edgeWords, type LearnContext, openLearn, parseLanguage } from "./context.js";
import { embeddedOnly, type LearnFlags, realTarget } from "./flags.js";
import { LearnHelp } from "./help.js";

const MAX_PORT = 65_535;

/** `kubelab learn`: guided walkthroughs, with a menu on a terminal and with subcommands everywhere. */
export function addLearnCommand(learn: Command, context: CliContext): void {
  const help = new LearnHelp(sayIn(languageOf(context.env)));
  const room: LearnRoom = { context, learn, help };
  help.root(
    learn,
    "helpLearn",
    "kubelab learn",
    "kubelab learn start heartbeats --speed 20",
    "kubelab learn start heartbeats --yes --answers answers.yaml",
    "kubelab learn report --junit > report.xml",
  );
  addLearnOptions(room);
  learn.action(
    open(
      room,
      async (env, flags) => {
        const [word] = learn.args;
        if (word !== undefined) throw noCommand(env, word, learn);
        await (await import("./menu/menu.js")).runMenu(env, embeddedOnly(flags));
      },
      true,
    ),
  );
  addPlayCommands(room);
  addStepCommands(room);
  addProgressCommands(room);
  // Excess arguments are allowed, because an unknown subcommand must get an error with the nearest name, before commander's check.
  learn.allowExcessArguments();
}

/** Shared by the functions that add subcommands. */
interface LearnRoom {
  readonly context: CliContext;
  readonly learn: Command;
  readonly help: LearnHelp;
}

type Run = (env: LearnContext, flags: LearnFlags, word: string) => Promise<void>;

function addLearnOptions({ context, learn, help }: LearnRoom): void {
  const parsed =
    <T>(parse: (text: string) => T | undefined, problem: MessageKey) =>
    (text: string): T => {
      const value = parse(text);
      if (value === undefined) throw new InvalidArgumentError(help.say(problem));
      return value;
    };
  const seedOf = (text: string) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);
  help.option(learn, "--lang <language>", "helpLang", parsed(parseLanguage, "badLang"));
  help.option(learn, "--speed <factor>", "helpSpeed", parsed(factorOf, "badSpeed"));
  help.option(learn, "--seed <number>", "helpSeed", parsed(seedOf, "badSeed"));
  const portOf = (text: string) => (/^\d{1,5}$/.test(text) && Number(text) <= MAX_PORT ? Number(text) : undefined);
  help.option(learn, "--ui [port]", "helpUi", parsed(portOf, "badPort"));
  help.option(learn, "--no-color", "helpNoColor");
  // commander parses options before it prints help, wherever they are in the line.
  for (const command of [learn.parent, learn]) {
    command?.on("option:lang", () => help.speak(sayIn(command.opts<LearnFlags>().lang ?? languageOf(context.env))));
  }
}

/**
 * Wraps the action of a subcommand: opens learn mode and translates its errors to the learner's language.
 * @param plays whether the action starts a lab: only then are --speed and --seed allowed
 */
function open({ context, learn }: LearnRoom, run: Run, plays = false): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const word = typeof args[0] === "string" ? args[0] : "";
    const own = args.find((one): one is Partial<LearnFlags> => typeof one === "object" && one !== null);
    // The parent takes its options wherever they are in the line.
    const flags: LearnFlags = { ...own, ...learn.opts<LearnFlags>() };
    const env = await openLearn(context, flags);
    context.useWords(edgeWords(env.say));
    try {
      if (!plays) refuseFlagsOfPlay(env, flags);
      await run(env, flags, word);
    } catch (error) {
      throw localized(error, env.say);
    } finally {
      const kept = env.store.keptAs;
      if (kept !== undefined) env.notice(env.say("progressBroken", { kept }));
    }
  };
}

function add({ learn, help }: LearnRoom, name: string, key: MessageKey): Command {
  return help.command(learn.command(name), key);
}

/** Subcommands that list and start labs. */
function addPlayCommands(room: LearnRoom): void {
  const { context, learn, help } = room;
  const list = add(room, "list", "helpList");
  help.option(list, "--json", "helpListJson");
  list.action(open(room, async (env, { json }) => (await import("./menu/listing.js")).listLabs(env, json === true)));
  const start = add(room, "start", "helpStart");
  help.argument(start, "<id>", "helpStartId");
  help.option(start, "--yes", "helpYes");
  help.option(start, "--answers <file>", "helpAnswers");
  help.option(start, "--kubeconfig <file>", "helpKubeconfig");
  help.option(start, "--context <name>", "helpContext");
  help.option(start, "--real", "helpReal");
  help.option(start, "--detach", "helpDetach");
  addExamOption(room, start);
  help.option(start, "--kube-version <release>", "helpKubeVersion");
  start.action(open(room, async (env, flags, id) => (await import("./start.js")).startLab(env, flags, id), true));
  const incident = add(room, "incident", "helpIncident");
  help.argument(incident, "[id]", "helpIncidentId");
  help.option(incident, "--random", "helpRandom");
  addExamOption(room, incident);
  incident.action(
    open(room, async (env, flags, id) => (await import("./start.js")).startIncident(env, flags, id), true),
  );
  add(room, "today", "helpToday").action(
    open(room, async (env, flags) => (await import("./today.js")).playToday(env, flags), true),
  );
  const path = add(room, "path", "helpPath");
  help.argument(path, "[id]", "helpPathId");
  path.action(open(room, async (env, _flags, id) => (await import("./paths.js")).showPaths(env, id)));
  const serve: Run = async (here, flags, id) => {
    const { env, lab } = await (await import("./own/own-lab.js")).findLabOrFolder(here, id);
    await (await import("../../lab/labs/session/detached/serve.js")).serveLab(env, lab, embeddedOnly(flags));
  };
  learn
    .command("serve", { hidden: true })
    .argument("<id>")
    .option("--kube-version <release>")
    .action(open(room, serve, true));
  learn
    .command("kubectl", { hidden: true })
    .argument("[words...]")
    .action(async (words: readonly string[]) =>
      (await import("../../lab/kubectl/run-kubectl.js")).runKubectl(context, words),
    );
}

const MAX_MINUTES = 600;

function addExamOption({ help }: LearnRoom, command: Command): void {
  help.option(command, "--exam [minutes]", "helpExam", (text) => {
    const minutes = Number(text);
    if (/^\d+$/.test(text) && minutes >= 1 && minutes <= MAX_MINUTES) return minutes;
    throw new InvalidArgumentError(help.say("badMinutes"));
  });
}

/** Subcommands for the running lab. */
function addStepCommands(room: LearnRoom): void {
  const { help } = room;
  const operations = () => import("./operations.js");
  const check = add(room, "check", "helpCheck");
  help.option(check, "--wait", "helpWait");
  check.action(open(room, async (env, { wait }) => (await operations()).check(env, wait === true)));
  const next = add(room, "next", "helpNext");
  help.argument(next, "[choice]", "helpChoice");
  next.action(open(room, async (env, _flags, choice) => (await operations()).next(env, choice)));
  for (const [name, text] of [
    ["hint", "helpHint"],
    ["solution", "helpSolution"],
    ["page", "helpPage"],
    ["stop", "helpStop"],
  ] as const) {
    add(room, name, text).action(open(room, async (env) => (await operations())[name](env)));
  }
  const status = add(room, "status", "helpStatus");
  help.argument(status, "[id]", "helpRunningId");
  status.action(open(room, async (env, _flags, id) => (await operations()).status(env, id)));
  const shell = add(room, "shell", "helpShell");
  help.argument(shell, "[id]", "helpRunningId");
  shell.action(open(room, async (env, _flags, id) => (await import("./shell.js")).openShell(env, id)));
  const speed = add(room, "speed", "helpSpeedNow");
  help.argument(speed, "<factor>", "helpFactor");
  speed.action(open(room, async (env, _flags, factor) => (await operations()).speed(env, factor)));
  const reset = add(room, "reset", "helpReset");
  help.argument(reset, "[id]");
  help.option(reset, "--kubeconfig <file>", "helpResetKubeconfig");
  help.option(reset, "--context <name>", "helpResetContext");
  help.option(reset, "--real", "helpResetReal");
  help.option(reset, "--yes", "helpResetYes");
  reset.action(
    open(room, async (env, flags, id) => (await operations()).reset(env, id, realTarget(flags), flags.yes === true)),
  );
}

/** Subcommands for progress, and for authors of labs. */
function addProgressCommands(room: LearnRoom): void {
  const { help } = room;
  const report = add(room, "report", "helpReport");
  help.option(report, "--json", "helpReportJson");
  help.option(report, "--junit", "helpReportJunit");
  report.action(
    open(room, async (env, { json, junit }) => {
      if (json === true && junit === true)
        throw new LocalizedError("USAGE", env.say("twoReports"), env.say("twoReportsHint"));
      const format = json === true ? "json" : junit === true ? "junit" : "words";
      await (await import("./print-report.js")).printReport(env, format);
    }),
  );
  const transfer = () => import("./transfer.js");
  const exporting = add(room, "export", "helpExport");
  help.argument(exporting, "<file>");
  help.option(exporting, "--force", "helpForce");
  exporting.action(
    open(room, async (env, { force }, file) => (await transfer()).exportProgress(env, file, force === true)),
  );
  const importing = add(room, "import", "helpImport");
  help.argument(importing, "<file>");
  importing.action(open(room, async (env, _flags, file) => (await transfer()).importProgress(env, file)));
  const making = add(room, "new", "helpNew");
  help.argument(making, "<folder>");
  making.action(open(room, async (env, _flags, folder) => (await import("./own/new-lab.js")).newLab(env, folder)));
  const checkLabs = add(room, "check-labs", "helpCheckLabs");
  help.argument(checkLabs, "<folder>");
  checkLabs.action(
    open(room, async (env, _flags, folder) => (await import("./own/check-labs.js")).checkLabs(env, folder)),
  );
}

/** @throws LabError USAGE for a flag that would have no effect */
function refuseFlagsOfPlay({ say }: LearnContext, { speed, seed, ui }: LearnFlags): void {
  const given = { "--speed": speed, "--seed": seed, "--ui": ui };
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (flag === undefined) return;
  throw new LocalizedError(
    "USAGE",
    say("flagOfPlay", { flag }),
    say(speed === undefined ? "flagOfPlayHint" : "speedHint"),
  );
}

function noCommand({ library, say }: LearnContext, word: string, learn: Command): LocalizedError {
  const lab = findLab(library.summaries, word);
  if (lab !== undefined) {
    return new LocalizedError("USAGE", say("noCommandLab", { what: word }), `kubelab learn start ${lab.id}`);
  }
  const names = learn.commands.map((one) => one.name()).filter((name) => name !== "serve" && name !== "kubectl");
  const like = nearest(names, word);
  const message =
    like === undefined ? say("noCommand", { what: word }) : say("noCommandNearest", { what: word, nearest: like });
  return new LocalizedError("USAGE", message, say("noCommandHint"));
}

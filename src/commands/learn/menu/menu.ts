import { isOnPath } from "../../../lab/labs/environment/programs.js";
import type { LabSummary } from "../../../lab/labs/format/library.js";
import type { Progress } from "../../../lab/labs/progress/progress.js";
import type { MessageKey } from "../../../util/i18n/catalogue.js";
import type { LearnContext } from "../context.js";
import type { InteractiveOptions } from "../play/interactive.js";
import type { Choice } from "../play/number-prompt.js";
import { canAsk, choose, isPlain, promptContext, quitKey } from "../play/prompt.js";
import { playableIn, playableNext, playLabs } from "../play.js";
import { minutesLeft, standingIn, standingInWords } from "../standing.js";
import type { Menu, MenuEntry, MenuGroup } from "./menu-frame.js";
import type { MenuScreen } from "./menu-prompt.js";

/** The input of `menuOf`. */
export interface MenuMaker extends Pick<LearnContext, "library" | "say" | "language"> {
  /** for the programs that labs need */
  readonly context: Pick<LearnContext["context"], "env">;
}

/**
 * Shows the menu and runs labs and windows until the learner quits.
 * @param first the lab that is selected first; default: the next one
 */
export async function runMenu(env: LearnContext, options: InteractiveOptions, first = ""): Promise<void> {
  const { summaries } = env.library;
  let pointed = first;
  for (;;) {
    const chosen = await chooseEntry(env, pointed);
    if (chosen === "") return;
    const lab = summaries.find(({ id }) => id === chosen);
    pointed = chosen;
    if (lab === undefined) {
      await openWindow(env, chosen);
      if (!(await goOn(env))) return;
      continue;
    }
    const { way, last } = await playLabs(env, lab, options);
    if (way === "quit") return;
    pointed = way === "menu" ? ((await playableNext(env, last))?.id ?? "") : last.id;
  }
}

/** Waits for the learner, because the menu would replace what a window has printed. */
async function goOn(env: LearnContext): Promise<boolean> {
  const { say } = env;
  env.context.streams.stderr.write("\n");
  const keys = [{ key: "l", value: "go", name: say("goMenu") }, quitKey(env, "")];
  return (await choose(env, { lines: [], keys })) === "go";
}

/** @param pointed the value of the entry that is selected first; "": the next lab */
async function chooseEntry(env: LearnContext, pointed: string): Promise<string> {
  const { say, context } = env;
  const progress = await env.store.load();
  const menu = menuOf(env, progress);
  const entries = menu.groups.flatMap((group) => group.entries);
  if (!canAsk(env) || isPlain(env)) {
    return choose(env, { lines: [menu.about, menu.title], choices: asChoices(menu) });
  }
  const { menuPrompt } = await import("./menu-prompt.js");
  const { chalk, unicode } = env.renderer("stderr").options;
  const screen: MenuScreen = context.streams.stderr;
  const first = pointed === "" ? playableIn(env, progress)?.id : pointed;
  const active = Math.max(
    0,
    entries.findIndex(({ value }) => value === first),
  );
  const config = { menu, active, screen, options: { chalk, say, unicode } };
  return menuPrompt(config, promptContext(env));
}

/** Lists all labs in groups, with the learner's progress, then the windows, and an entry to quit. */
export function menuOf({ library, say, language, context }: MenuMaker, progress: Progress): Menu {
  const { summaries } = library;
  // Searches PATH once for each program, because many labs need the same few.
  const wanted = [...new Set(summaries.flatMap(({ needs }) => needs))];
  const absent = new Set<string>(wanted.filter((program) => !isOnPath(program, context.env)));
  const missingFor = ({ needs }: LabSummary) => needs.find((program) => absent.has(program));
  const isDone = (lab: LabSummary) => standingIn(lab, progress).state === "done";
  const entry = (lab: LabSummary): MenuEntry => {
    const missing = missingFor(lab);
    const { state, done } = standingIn(lab, progress);
    const minutes =
      state === "begun"
        ? say("minutesLeft", { count: minutesLeft(lab, done) })
        : say("minutes", { count: lab.minutes });
    const standing = standingInWords(lab, progress, say);
    return {
      key: lab.number,
      value: lab.id,
      name: `${lab.number.padEnd(3)} ${lab.title[language]}`,
      description:
        missing === undefined
          ? say("menuDescription", { summary: lab.summary[language], minutes, standing })
          : say("menuDescriptionMissing", { summary: lab.summary[language], program: missing }),
      state,
    };
  };
  const group = (kind: LabSummary["kind"], heading: string): MenuGroup[] => {
    const entries = summaries.filter((lab) => lab.kind === kind).map(entry);
    return entries.length === 0 ? [] : [{ heading, entries }];
  };
  const windows = WINDOWS.map(({ command, key }) => {
    // A lab may have the command's name.
    const line = `kubelab ${command}`;
    return { key: command, value: line, name: line, description: say(key) };
  });
  const quit = { key: "", value: "", name: say("quit"), description: "" };
  return {
    about: say("menuAbout"),
    title: say("menuTitle"),
    done: summaries.filter(isDone).length,
    // Labs that cannot be played on this machine do not count.
    count: summaries.filter((lab) => isDone(lab) || missingFor(lab) === undefined).length,
    groups: [
      ...group("chapter", say("chapters")),
      ...group("incident", say("incidents")),
      { heading: say("freePlay"), entries: windows },
      { entries: [quit] },
    ],
  };
}

function asChoices({ groups }: Menu): Choice[] {
  return groups.flatMap(({ heading, entries }) => [...(heading === undefined ? [] : [{ heading }]), ...entries]);
}

/** Commands that open a window into a running kubelet, each with its own cluster; all but the last have keys to play with. */
const WINDOWS: readonly { readonly command: string; readonly key: MessageKey }[] = [
  { command: "pleg", key: "playPleg" },
  { command: "pod-worker", key: "playPodWorker" },
  { command: "static-pod", key: "playStaticPod" },
  { command: "pod-manager", key: "playPodManager" },
  { command: "journey", key: "playJourney" },
];

/** Runs `kubelab COMMAND` of a window in this process until the learner leaves it. */
async function openWindow({ context }: LearnContext, line: string): Promise<void> {
  await context.program.run(line.split(" ").slice(1), "learn", context);
  context.signal.throwIfAborted();
}

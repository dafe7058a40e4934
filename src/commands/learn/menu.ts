import type { LabSummary } from "../../labs/library.js";
import type { Progress } from "../../labs/progress.js";
import type { LearnContext } from "./context.js";
import type { InteractiveOptions } from "./interactive.js";
import { standingInWords } from "./list.js";
import type { Menu, MenuEntry, MenuGroup } from "./menu-frame.js";
import type { MenuScreen } from "./menu-prompt.js";
import { type Choice, canAsk, choose, isPlain, promptContext } from "./prompt.js";

/** What `menuOf` needs. */
export type MenuMaker = Pick<LearnContext, "library" | "say" | "language">;

/** Shows the menu and runs labs until the learner quits. */
export async function runMenu(env: LearnContext, options: InteractiveOptions): Promise<void> {
  let lab: LabSummary | undefined;
  for (;;) {
    lab = await chooseLab(env, lab);
    if (lab === undefined) return;
    // Loaded late: it brings the cluster's code, which the menu does not need.
    const { runLab } = await import("./interactive.js");
    if ((await runLab(env, lab, options)) && !(await goOn(env))) return;
  }
}

/** Waits for the learner, because the menu would replace the lab's last messages. */
async function goOn(env: LearnContext): Promise<boolean> {
  const { say } = env;
  env.context.streams.stderr.write("\n");
  const choices = [
    { value: "go", name: say("actionNext") },
    { value: "", name: say("quit") },
  ];
  return (await choose(env, say("pressWhat"), choices)) === "go";
}

async function chooseLab(env: LearnContext, last: LabSummary | undefined): Promise<LabSummary | undefined> {
  const { library, say, context } = env;
  const menu = menuOf(env, await env.store.load());
  const entries = menu.groups.flatMap((group) => group.entries);
  if (!canAsk(env) || isPlain(env)) return labOf(await choose(env, menu.title, asChoices(menu)));
  const { menuPrompt } = await import("./menu-prompt.js");
  const { chalk, unicode } = env.renderer("stderr").options;
  const screen: MenuScreen = context.streams.stderr;
  const active = Math.max(
    0,
    entries.findIndex(({ value }) => value === last?.id),
  );
  const config = { menu, active, screen, options: { chalk, say, unicode } };
  return labOf(await menuPrompt(config, promptContext(env)));

  function labOf(id: string): LabSummary | undefined {
    return library.summaries.find((lab) => lab.id === id);
  }
}

/** Lists all labs in groups, with the learner's progress, and an entry to quit. */
export function menuOf({ library, say, language }: MenuMaker, progress: Progress): Menu {
  const entry = (lab: LabSummary): MenuEntry => {
    const standing = `${say("minutes", { count: lab.minutes })}, ${standingInWords(lab, progress, say)}`;
    return {
      key: lab.number,
      value: lab.id,
      name: `${lab.number.padEnd(3)} ${lab.title[language]}`,
      description: `${lab.summary[language]} (${standing})`,
    };
  };
  const group = (kind: LabSummary["kind"], heading: string): MenuGroup[] => {
    const entries = library.summaries.filter((lab) => lab.kind === kind).map(entry);
    return entries.length === 0 ? [] : [{ heading, entries }];
  };
  const quit = { key: "", value: "", name: say("quit"), description: "" };
  return {
    title: say("menuTitle"),
    groups: [...group("chapter", say("chapters")), ...group("incident", say("incidents")), { entries: [quit] }],
  };
}

function asChoices({ groups }: Menu): Choice[] {
  return groups.flatMap(({ heading, entries }) => [...(heading === undefined ? [] : [{ heading }]), ...entries]);
}

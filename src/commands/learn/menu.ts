import type { LabSummary } from "../../labs/library.js";
import type { LearnEnvironment } from "./environment.js";
import type { InteractiveOptions } from "./interactive.js";
import { standingInWords } from "./list.js";
import { type Choice, choose } from "./prompt.js";
import { wrap } from "./text-width.js";

/** The menu, until the learner has had enough. */
export async function runMenu(env: LearnEnvironment, options: InteractiveOptions): Promise<void> {
  for (;;) {
    const lab = await chooseLab(env);
    if (lab === undefined) return;
    // With a lab comes its cluster: nobody waits for that code who only looks.
    const { runLab } = await import("./interactive.js");
    if ((await runLab(env, lab, options)) && !(await goOn(env))) return;
  }
}

/** The menu fills the screen: the lab's last words stay until they are read. */
async function goOn(env: LearnEnvironment): Promise<boolean> {
  const { say } = env;
  env.context.streams.stderr.write("\n");
  const choices = [
    { value: "go", name: say("actionNext") },
    { value: "", name: say("quit") },
  ];
  return (await choose(env, say("pressWhat"), choices)) === "go";
}

async function chooseLab(env: LearnEnvironment): Promise<LabSummary | undefined> {
  const { library, store, say, language } = env;
  const progress = await store.load();
  const width = env.context.streams.stderr.columns ?? 80;
  const describe = (lab: LabSummary) => {
    const standing = `${say("minutes", { count: lab.minutes })}, ${standingInWords(lab, progress, say)}`;
    return wrap(`${lab.summary[language]} (${standing})`, width).join("\n");
  };
  const entries = (kind: LabSummary["kind"]) =>
    library.summaries
      .filter((lab) => lab.kind === kind)
      .map((lab) => ({
        value: lab.id,
        name: `${lab.number.padEnd(3)} ${lab.title[language]}`,
        description: describe(lab),
      }));
  const incidents = entries("incident");
  const choices: Choice[] = [
    { heading: say("chapters") },
    ...entries("chapter"),
    ...(incidents.length === 0 ? [] : [{ heading: say("incidents") }, ...incidents]),
    { value: "", name: say("quit") },
  ];
  const id = await choose(env, say("menuTitle"), choices);
  return library.summaries.find((lab) => lab.id === id);
}

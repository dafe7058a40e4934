// `npm run gallery [-- --out DIR] [--only ID,ID]`: records the stories of commands and labs from real runs, and writes them with the
// pages of docs/ as a folder for any static host: `gallery/`.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compileLabs } from "../src/lab/labs/format/compile.js";
import { writeDocs } from "./gallery/docs.js";
import { STYLE, STYLE_FILE } from "./gallery/html.js";
import { indexPage, type Recorded } from "./gallery/index-page.js";
import { type Recording, recordCommand, recordLab, run, shortened, stepsOf } from "./gallery/record.js";
import { COMMANDS, INCIDENTS, LABS } from "./gallery/stories.js";

const LANGUAGES = ["en", "zh"] as const;
/** Runs mostly wait for clocks. */
const AT_ONCE = 3;

const { values: flags } = parseArgs({
  options: { out: { type: "string", default: "gallery" }, only: { type: "string" } },
});
const only = flags.only?.split(",");
const { out } = flags;
const home = await mkdtemp(join(tmpdir(), "k-"));
const labs = new Map((await compileLabs("labs")).flatMap(({ lab }) => (lab ? [[lab.definition.id, lab]] : [])));
/** of the pages of stories: they are the same in all */
const shared = { script: "", style: "" };

interface Job {
  readonly about: Omit<Recorded, "steps">;
  readonly record: (home: string) => Promise<Recording>;
}

const jobs: readonly Job[] = [
  ...COMMANDS.map((story) => {
    const words = (story.argv ?? []).filter((word) => word !== "{page}");
    const command = ["kubelab", ...words].join(" ");
    const about = { id: story.id, title: story.title, group: "commands", command, lab: story.lab } as const;
    return { about, record: (home: string) => recordCommand(home, story) };
  }),
  ...[...LABS, ...INCIDENTS].flatMap((id) => {
    const lab = labs.get(id);
    if (lab === undefined) throw new Error(`there is no lab ${id}`);
    const title = { en: lab.text.en.title, zh: lab.text.zh.title };
    const group = lab.definition.kind === "incident" ? ("incidents" as const) : ("labs" as const);
    const command = `kubelab learn start ${id}`;
    return [
      { about: { id: `lab-${id}`, title, group, command, lab: id }, record: (home: string) => recordLab(home, lab) },
    ];
  }),
].filter(({ about }) => only === undefined || only.includes(about.id));

/** Moves the script and the style, which all pages of stories share, into two files beside them. */
function withoutHead(text: string): string {
  const style = /<style>([\s\S]*?)<\/style>/.exec(text);
  const script = /<script type="module" async>([\s\S]*?)<\/script>/.exec(text);
  if (style === null || script === null) throw new Error("the page of a trace has no script or no style");
  shared.style = style[1] ?? "";
  shared.script = script[1] ?? "";
  return text
    .replace(style[0], () => '<link rel="stylesheet" href="page.css">')
    .replace(script[0], () => '<script type="module" async src="page.js"></script>')
    .replace(/'sha256-[^']*'/g, "'self'");
}

const recorded = new Map<string, Recorded>();
async function worker(queue: Job[]): Promise<void> {
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
    const { about } = job;
    const place = join(home, about.id);
    await mkdir(join(place, "state"), { recursive: true });
    const begun = performance.now();
    // A busy machine can miss the deadline of a lab's step: the second attempt counts.
    const { facts: all, title } = await job.record(place).catch(() => job.record(place));
    const facts = shortened(all);
    const steps = stepsOf(facts);
    if (steps === 0) throw new Error(`${about.id} tells no story`);
    const file = join(place, "story.ndjson");
    for (const language of LANGUAGES) {
      const named = facts.map((fact) => (fact.kind === "story" && title ? { ...fact, title: title[language] } : fact));
      await writeFile(file, `${named.map((fact) => JSON.stringify(fact)).join("\n")}\n`);
      const path = join(place, `${language}.html`);
      await run(place, ["trace", "convert", file, "-o", path, "--lang", language]);
      await writeFile(join(out, "stories", `${about.id}.${language}.html`), withoutHead(await readFile(path, "utf8")));
    }
    recorded.set(about.id, { ...about, steps });
    process.stdout.write(
      `${((performance.now() - begun) / 1000).toFixed(1).padStart(5)} s  ${about.id}, ${steps} steps\n`,
    );
  }
}

/** Only an earlier gallery is replaced. @throws Error for a folder with anything else */
async function clear(): Promise<void> {
  const names: readonly string[] = await readdir(out).catch(() => []);
  if (names.length > 0 && !names.includes("stories")) throw new Error(`${out} is no gallery: name an empty folder`);
  await rm(out, { recursive: true, force: true });
}

try {
  await clear();
  await mkdir(join(out, "stories"), { recursive: true });
  const queue = [...jobs];
  await Promise.all(Array.from({ length: AT_ONCE }, () => worker(queue)));
  await writeFile(join(out, "stories/page.js"), shared.script);
  await writeFile(join(out, "stories/page.css"), shared.style);
  await writeFile(join(out, STYLE_FILE), STYLE);
  const docs = await writeDocs(out);
  const stories = jobs.flatMap(({ about }) => recorded.get(about.id) ?? []);
  for (const language of LANGUAGES)
    await writeFile(join(out, language === "en" ? "index.html" : "index.zh.html"), indexPage(language, stories, docs));
} finally {
  await rm(home, { recursive: true, force: true });
}

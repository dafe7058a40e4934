// `npm run screenshots`: draws the pages of a trace and of a running command, light and dark, wide and narrow, as docs/images/*.png,
// and the moving picture of a pod's story in README.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { readTrace } from "../src/trace/file/read-trace.js";
import { TraceGraph } from "../src/trace/graph/graph.js";
import { translated } from "../src/trace/translated.js";
import { storySvg } from "../src/trace/ui/story-svg.js";
import { LANGUAGES } from "../src/util/i18n/language.js";
import { sentencesIn } from "../src/util/i18n/sentences.js";
import { startChromium } from "../test/support/chromium.js";

const FOLDER = "docs/images";
const SHOTS = [
  { name: "trace-page", colorScheme: "light", viewport: { width: 1200, height: 840 } },
  { name: "trace-page-narrow", colorScheme: "dark", viewport: { width: 400, height: 1000 } },
] as const;
/** The step that is selected: the scheduler writes its choice. */
const SELECTED = /binding|bind pod/;

const home = await mkdtemp(join(tmpdir(), "k-"));
const options = { cwd: home, env: { PATH: process.env["PATH"], HOME: home } };
const kubelab = (...argv: string[]) =>
  spawn(process.execPath, [resolve("dist/cli.js"), ...argv], { ...options, stdio: ["ignore", "ignore", "pipe"] });
await mkdir(FOLDER, { recursive: true });
const browser = await startChromium();

async function traceJourney(name: string): Promise<string> {
  const file = join(home, name);
  const child = kubelab("journey", "--trace", file);
  child.stderr.resume();
  const code = await new Promise((ended) => child.once("close", ended));
  if (code !== 0) throw new Error(`kubelab journey exited with ${code}`);
  return file;
}

/** The steps of a pod's story that a reader must know. */
const STEPS = [
  /^asks the API server to create pod/,
  /^chooses /,
  /^asks the API server to bind/,
  /^hears that pod/,
  /^asks the runtime to start a sandbox/,
  /^asks the runtime to pull/,
  /^asks the runtime to start container/,
  /^runs container/,
  /^PLEG sees that container/,
  /^reports that pod .* is Running/,
];
const STEP_S = 1.4;
/** The whole picture is shown before it begins again. */
const REST_S = 6;

/** Lights one step after the other, for readers who did not ask for less motion. Programs without animations show all steps. */
function moving(svg: string): string {
  const count = svg.split('<g class="s ').length - 1;
  const seconds = count * STEP_S + REST_S;
  const percent = (at: number) => `${((at / seconds) * 100).toFixed(1)}%`;
  const frames = Array.from({ length: count }, (_, i) => {
    const [from, to] = [i * STEP_S + 0.3, i * STEP_S + 0.8];
    return `@keyframes k${i}{0%,${percent(from)}{opacity:.18}${percent(to)},97%{opacity:1}to{opacity:.18}}.s${i}{animation-name:k${i}}`;
  });
  let i = 0;
  return svg
    .replace(
      "</style>",
      `\n@media (prefers-reduced-motion: no-preference){.s{animation:${seconds}s infinite}\n${frames.join("\n")}}</style>`,
    )
    .replaceAll('<g class="s ', () => `<g class="s s${i++} `);
}

/** README's pictures: ten steps of a pod's story, from the fastest of some runs. */
async function drawStory(): Promise<void> {
  const runs: Awaited<ReturnType<typeof readTrace>>["events"][] = [];
  for (let i = 0; i < 5; i++) runs.push((await readTrace(await traceJourney(`run${i}.ndjson`))).events);
  const span = (events: (typeof runs)[number]) => (events.at(-1)?.atMs ?? 0) - (events[0]?.atMs ?? 0);
  const [events = []] = runs.sort((a, b) => span(a) - span(b));
  const told = events.map((event) => {
    if (event.kind !== "story") return event;
    // The scheduler hears of the pod as well, before it chooses.
    const isKubelets = (id: string) => events.find((one) => one.id === id)?.actor === "kubelet";
    const isKnown = ({ text, fact }: (typeof event.steps)[number]) =>
      STEPS.some((step) => step.test(text)) && (!text.startsWith("hears") || isKubelets(fact));
    return { ...event, steps: event.steps.filter(isKnown) };
  });
  for (const language of LANGUAGES) {
    const sentences = await sentencesIn(language);
    const facts = sentences === undefined ? told : told.map((event) => translated(event, sentences.say));
    const name = language === "en" ? "story.svg" : `story.${language}.svg`;
    await writeFile(`${FOLDER}/${name}`, moving(storySvg(TraceGraph.of(facts))[0]));
  }
}

/** The page of a pod's life. */
async function drawTrace(): Promise<void> {
  const file = await traceJourney("run.html");
  for (const { name, colorScheme, viewport } of SHOTS) {
    const page = await browser.newPage({ colorScheme, viewport });
    await page.goto(pathToFileURL(file).href);
    await page.getByRole("option", { name: SELECTED }).first().click();
    await page.locator(".dot").first().waitFor({ state: "detached" });
    await page.screenshot({ path: `${FOLDER}/${name}.png` });
    await page.close();
  }
}

/** The page of running pod workers, while updates flood one of them. */
async function drawLive(): Promise<void> {
  const child = kubelab("pod-worker", "--ui", "--duration", "2m");
  try {
    const page = await browser.newPage({ colorScheme: "light", viewport: { width: 1500, height: 900 } });
    await page.goto(await addressFrom(child.stderr));
    const press = (key: string) => page.getByRole("button", { name: key }).click();
    for (const pod of ["pod-1", "pod-2"]) {
      await press("p pod");
      await page.getByRole("button", { name: new RegExp(`^pod default/${pod}, Running`) }).waitFor();
    }
    await press("f flood");
    await page
      .getByRole("listbox")
      .getByText(/merges \d+ updates/)
      .first()
      .waitFor();
    await page.locator(".dot").first().waitFor();
    await page.screenshot({ path: `${FOLDER}/live-page.png` });
    await page.close();
  } finally {
    child.kill("SIGINT");
    await new Promise((ended) => child.once("close", ended));
  }
}

async function addressFrom(stderr: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stderr) {
    text += String(chunk);
    const [url] = /http:\S+token=[\w-]+/.exec(text) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`no address of a page in: ${text}`);
}

await drawStory();
await drawTrace();
await drawLive();
await browser.close();
await rm(home, { recursive: true, force: true });

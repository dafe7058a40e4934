import { type ChildProcess, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import { CliSession } from "../../src/commands/cli/session.js";
import { PROGRAM } from "../../src/commands/main.js";
import { openEmbeddedEnvironment } from "../../src/lab/labs/environment/embedded-environment.js";
import type { Lab } from "../../src/lab/labs/format/lab.js";
import { withCauses } from "../../src/lab/labs/session/picture.js";
import { LabSession } from "../../src/lab/labs/session/session.js";
import { loadKubeconfig } from "../../src/staging/client-go/clientcmd/kubeconfig.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import type { Fact, TraceEvent } from "../../src/trace/events.js";
import { labRule } from "../../src/trace/story/rules.js";
import { tellStory } from "../../src/trace/story/teller.js";
import { LEVELS, Trace, type TraceSink } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import type { PodManifest, Story, Words } from "./stories.js";

const CLI = resolve("dist/cli.js");
const POLL_MS = 100;
/** A window's story is told when no step has come for this time. */
const QUIET_MS = 2500;
const TIMEOUT_MS = 90_000;
/** Several recordings at once leave little time to a lab's fast clock. */
const PATIENCE_MS = 45_000;

/** The suites play labs with other seeds: the ports of a lab are drawn from its seed. */
const SEED = 35;

const sleep = (ms: number) => new Promise((over) => setTimeout(over, ms));

/** Runs the built CLI in a home of its own. */
function start(home: string, argv: readonly string[]): ChildProcess & { text: string } {
  const env = { PATH: process.env["PATH"], HOME: home, XDG_STATE_HOME: join(home, "state"), LANG: "C.UTF-8" };
  const child = Object.assign(spawn(process.execPath, [CLI, ...argv], { cwd: home, env }), { text: "" });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      child.text += String(chunk);
    });
  }
  return child;
}

const ended = (child: ChildProcess) => new Promise<number | null>((over) => child.once("close", over));

/** Runs a command to its end. @throws Error with its output if it fails */
export async function run(home: string, argv: readonly string[]): Promise<void> {
  const child = start(home, argv);
  const code = await ended(child);
  if (code !== 0) throw new Error(`kubelab ${argv.join(" ")} exited with ${code}:\n${child.text}`);
}

/** Records the facts of a command's run. */
export async function recordCommand(home: string, story: Story): Promise<Recording> {
  const { argv = [], keys, file, creates } = story;
  const path = join(home, `${story.id}.ndjson`);
  if (file !== undefined) await writeFile(join(home, file.name), file.text);
  const flags = ["--trace", path, ...(keys === undefined ? [] : ["--ui"])];
  const hasPlace = argv.includes("{page}");
  const words = hasPlace ? argv.flatMap((word) => (word === "{page}" ? flags : [word])) : [...argv, ...flags];
  if (keys !== undefined) await playWindow(start(home, words), path, keys);
  else if (creates !== undefined) await playCluster(start(home, words), path, creates);
  else await run(home, words);
  return { facts: factsOf(await readFile(path, "utf8")) };
}

const factsOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as TraceEvent);

/** Presses keys on the live page of a window, and ends it when the story of the last one is told. */
async function playWindow(
  child: ChildProcess & { text: string },
  path: string,
  keys: readonly string[],
): Promise<void> {
  const over = ended(child);
  try {
    const url = await until(() => /http:\S+token=[\w-]+/.exec(child.text)?.[0]);
    for (const key of keys) {
      const before = await storyLength(path);
      const body = JSON.stringify({ key });
      const headers = { "content-type": "application/json" };
      await until(
        async () => (await fetch(url.replace("/?", "/keys?"), { method: "POST", headers, body })).ok || undefined,
      );
      await toldSince(path, before);
    }
  } finally {
    child.kill("SIGINT");
    await over;
  }
}

/** Creates an object in a running cluster, as kubectl does, and ends the cluster when that story is told. */
async function playCluster(child: ChildProcess & { text: string }, path: string, body: PodManifest): Promise<void> {
  const over = ended(child);
  try {
    const kubeconfig = await until(() => /--kubeconfig\s+(\S+)/.exec(child.text)?.[1]);
    const { config } = await loadKubeconfig(kubeconfig);
    const clock = new SystemClock();
    // Without sinks the client names no cause, so that the cluster's own facts begin the story.
    const deps = { clock, random: new SystemRandom(), trace: new Trace(clock), actor: "user" as const };
    await using client = createClient(config, { ...deps, userAgent: "kubectl" });
    const before = await storyLength(path);
    await client.expect({ method: "POST", path: "/api/v1/namespaces/default/pods", body });
    await toldSince(path, before);
  } finally {
    child.kill("SIGINT");
    await over;
  }
}

/** Waits until a story has new steps, and no more come. */
async function toldSince(path: string, before: number): Promise<void> {
  let length = before;
  let quietMs = 0;
  await until(async () => {
    const now = await storyLength(path);
    quietMs = now === length ? quietMs + POLL_MS : 0;
    length = now;
    return length > before && quietMs >= QUIET_MS ? length : undefined;
  });
}

/** How much of a story a trace file has, which is still written. */
async function storyLength(path: string): Promise<number> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line.includes('"kind":"story"')).length;
}

async function until<T>(find: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (let waitedMs = 0; waitedMs < TIMEOUT_MS; waitedMs += POLL_MS) {
    const found = await find();
    if (found !== undefined) return found;
    await sleep(POLL_MS);
  }
  throw new Error("nothing happened for too long");
}

/** A recording. Facts are translated when they are written, but titles of labs' steps are the author's own words. */
export interface Recording {
  readonly facts: readonly TraceEvent[];
  /** of the story; default: the command's own */
  readonly title?: Words;
}

/** Plays a lab to its end, and records the step whose commands tell the longest story. */
export async function recordLab(home: string, lab: Lab): Promise<Recording> {
  const { id, speed } = lab.definition;
  const process_ = {
    env: { ...process.env, HOME: home, XDG_STATE_HOME: join(home, id, "state") },
    cwd: home,
    streams: { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
    random: new SystemRandom(),
    self: [process.execPath, CLI] as const,
    signal: new AbortController().signal,
  };
  const context = new CliSession({ ...process_, self: [...process_.self] }, PROGRAM);
  const shown = { columns: 80, isColoured: false, language: "en" } as const;
  const options = { clusterName: id, speed, definition: lab.definition, patienceMs: PATIENCE_MS, ...shown };
  try {
    await using environment = await openEmbeddedEnvironment(context, options);
    await using session = new LabSession(lab, environment, { language: "en", seed: SEED, emit: () => {} });
    await session.begin(context.signal);
    let best: Recording = { facts: [] };
    while (session.step !== undefined) {
      const { step } = session;
      await session.solve(context.signal);
      if (!(await session.perform("predict" in step ? step.predict[0] : undefined, context.signal)))
        throw new Error(`step ${step.id} of lab ${id} is not done`);
      const facts = withStory(session.picture().facts, step.id);
      const titleIn = (language: "en" | "zh") => lab.text[language].steps[step.id]?.title ?? step.id;
      if (stepsOf(facts) > stepsOf(best.facts)) best = { facts, title: { en: titleIn("en"), zh: titleIn("zh") } };
    }
    return best;
  } finally {
    await context.close();
  }
}

/** The facts with the story that they tell, which is found as a command finds its own while it runs. */
function withStory(facts: readonly TraceEvent[], title: string): readonly TraceEvent[] {
  const told: Fact[] = [];
  const sinks: TraceSink[] = [];
  const trace: Pick<Trace, "wants" | "addSink" | "emit"> = {
    wants: () => true,
    addSink: (sink) => void sinks.push(sink),
    emit: (fact) => {
      told.push(fact);
      return { ...stamp, ...fact };
    },
  };
  const last = facts.at(-1);
  const stamp = { seq: last?.seq ?? 0, id: "", atMs: last?.atMs ?? 0, actor: "user", level: LEVELS.story } as const;
  {
    using _story = tellStory(
      trace as Trace,
      labRule(() => title),
    );
    for (const fact of facts) for (const sink of sinks) sink.write(fact);
  }
  return [
    ...facts,
    ...told.map((fact, i) => ({ ...stamp, ...fact, seq: stamp.seq + 1 + i, id: `${i}`.padStart(16, "f") })),
  ];
}

/**
 * Without what makes a page large and its story no clearer: bodies of requests outside the story, and the API server's decisions that led to
 * nothing else.
 */
export function shortened(facts: readonly TraceEvent[]): readonly TraceEvent[] {
  const told = new Set(facts.flatMap((fact) => (fact.kind === "story" ? fact.steps.map((step) => step.fact) : [])));
  const isTold = ({ id, kind }: TraceEvent) => told.has(id) || kind === "story";
  const chain = new Set(withCauses(facts.filter(isTold), facts));
  const kept = facts.filter((fact) => chain.has(fact) || !(fact.kind === "decision" && fact.actor === "apiserver"));
  return withCauses(kept, facts).map((fact) => {
    if (chain.has(fact) || fact.kind !== "request") return fact;
    const { requestBody: _sent, responseBody: _got, ...rest } = fact;
    return rest;
  });
}

/** How many steps the stories of a trace have. */
export function stepsOf(facts: readonly TraceEvent[]): number {
  return facts.reduce((count, fact) => count + (fact.kind === "story" ? fact.steps.length : 0), 0);
}

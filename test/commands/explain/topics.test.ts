import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { CommanderError } from "commander";
import { test } from "vitest";
import { buildProgram } from "../../../src/commands/cli/program.js";
import { CliSession } from "../../../src/commands/cli/session.js";
import { sourceResult } from "../../../src/commands/explain/chapters.js";
import { openTopics } from "../../../src/commands/explain/open-topics.js";
import { seeOf } from "../../../src/commands/explain/show.js";
import { PROGRAM } from "../../../src/commands/main.js";
import { SystemRandom } from "../../../src/util/random.js";
import { reasonsInSource } from "../../support/reasons.js";
import { sourceFiles } from "../../support/source-files.js";

const TOPIC_GROUPS = await openTopics("en");
const TOPICS = TOPIC_GROUPS.flatMap(({ topics }) => topics);
const NAMES = TOPICS.flatMap(({ name, also = [] }) => [name, ...also]);

/** What else stands where reasons stand: statuses, types of events, hooks, actions of the scheduler's events. */
const NO_REASONS = new Set(["True", "False", "Normal", "Warning", "PostStart", "PreStop", "Scheduling", "Binding"]);

test("every reason that the source can write has a topic", () => {
  const reasons = reasonsInSource();
  assert.ok(reasons.size > 150, `found ${reasons.size}`);
  for (const one of [
    "CrashLoopBackOff",
    "SandboxChanged",
    "BackoffLimitExceeded",
    "KubeletHasDiskPressure",
    "NodePorts",
  ])
    assert.ok(reasons.has(one), `the reader finds ${one}`);
  const known = new Set(NAMES);
  const missing = [...reasons].filter(([name]) => !known.has(name) && !NO_REASONS.has(name));
  assert.deepEqual(missing, []);
});

test("no name belongs to two topics", () => {
  const names = NAMES.map((name) => name.toLowerCase());
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  );
});

test("a topic has up to four sentences, an upstream file, and labs that exist", () => {
  const labs = readdirSync("labs", { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => /^id: (.*)$/m.exec(readFileSync(`labs/${name}/lab.yaml`, "utf8"))?.[1]);
  for (const { name, text, upstream, labs: named = [] } of TOPICS) {
    const sentences = text.split(/[.?] (?=[A-Z`])/).length;
    assert.ok(sentences <= 4 && text.endsWith("."), `${name}: ${sentences} sentences`);
    assert.match(upstream, /^(pkg|cmd|plugin|staging\/src\/k8s\.io)\/[\w/.-]+\.(go|proto)$/, name);
    for (const id of named) assert.ok(labs.includes(id), `${name}: lab ${id}`);
  }
});

test("every topic has a Chinese text, and every Chinese text a topic", async () => {
  const chinese = (await openTopics("zh")).flatMap(({ topics }) => topics);
  assert.deepEqual(
    chinese.map(({ name }) => name),
    TOPICS.map(({ name }) => name),
  );
  for (const { name, text } of chinese) assert.match(text, /\p{Script=Han}.*。$/u, name);
});

test("there are more than fifty words", () => {
  const words = TOPIC_GROUPS.filter(({ title }) => title.startsWith("Words"));
  assert.ok(words.flatMap(({ topics }) => topics).length > 50);
});

const LINES = [...new Set(TOPICS.flatMap(seeOf))];
for (const line of LINES.filter((line) => line.startsWith("kubelab "))) {
  test(`the parser accepts: ${line}`, async () => {
    const argv = wordsOf(line).slice(1);
    const program = await buildProgram(argv, "0", session());
    const parsed = new Error("parsed");
    program.hook("preAction", () => {
      throw parsed;
    });
    program.configureOutput({ writeOut: () => {}, writeErr: () => {} });
    await assert.rejects(program.parseAsync(argv, { from: "user" }), (error) => {
      return error === parsed || (error instanceof CommanderError && error.exitCode === 0);
    });
  });
}

test("what `kubelab source` is asked for exists", () => {
  const sources = Object.fromEntries(sourceFiles("src").map((path) => [path, readFileSync(path, "utf8")]));
  const asked = LINES.filter((line) => line.startsWith("kubelab source "));
  assert.ok(asked.length > 10);
  for (const line of asked)
    assert.doesNotThrow(() => sourceResult(sources, line.slice("kubelab source ".length)), line);
});

test("the other commands are kubectl's", () => {
  assert.deepEqual(
    LINES.filter((line) => !/^(kubelab|kubectl) /.test(line)),
    [],
  );
});

function session(): CliSession {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const { signal } = new AbortController();
  const edge = { env: {}, cwd: "/", streams: { stdin, stdout, stderr }, random: new SystemRandom(), self: [], signal };
  return new CliSession(edge, PROGRAM);
}

/** The words of a command line without quotes. */
function wordsOf(line: string): string[] {
  assert.doesNotMatch(line, /['"|;<>]/);
  return line.split(" ");
}

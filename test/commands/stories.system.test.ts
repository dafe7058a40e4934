import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "vitest";
import type { StoryFact, StoryStep, TraceEvent } from "../../src/trace/events.js";
import { readTrace } from "../../src/trace/file/read-trace.js";
import { TraceGraph } from "../../src/trace/graph/graph.js";
import { translated } from "../../src/trace/translated.js";
import { messageOf } from "../../src/trace/ui/browser/picture/messages.js";
import { Story } from "../../src/trace/ui/browser/story.js";
import { sentencesIn } from "../../src/util/i18n/sentences.js";
import { DOES } from "../support/causes.js";
import { newHome, runCliProcess } from "../support/cli-process.js";

const TERMINATING = /^marks pod default\/hasty for deletion; it stays Terminating until its node ends it$/;
/** A command, the least number of steps of its last story, and sentences in it, in this order. */
const table: readonly (readonly [string, number, readonly RegExp[]])[] = [
  ["journey --delete", 10, [/^asks the API server to delete pod web$/, /^stores pod /, /^removes pod /]],
  ["journey deployment/web", 20, [/^asks .* to create Deployment web$/, /^creates ReplicaSet /, /^chooses node-1$/]],
  [
    "exec nginx -- echo hi",
    10,
    [/^runs "echo hi"/, /^asks the kubelet: /, /^asks the runtime for the address/, /exit code 0/],
  ],
  ["logs nginx", 4, [/^asks the API server for the log/, /^asks the kubelet: /]],
  ["bootstrap", 13, [/^checks whether this node needs/, /^approves CSR /, /^registers node /, /^renews the Lease/]],
  [
    "request create pod/web",
    15,
    [
      /^asks the API server to create pod web$/,
      /^identifies the client as kubernetes-admin$/,
      /^fills in the defaults of Pod$/,
      /^runs a transaction on /,
      /^sends ADDED /,
    ],
  ],
  ["token create", 3, [/^stores the token /, /rights come from/]],
  ["csr create --node n1 --approve --wait", 8, [/^makes a private key/, /^signs CSR .* for /, /^writes a kubeconfig$/]],
  [
    "lease --duration 1s",
    13,
    [/^checks whether this node needs/, /^approves CSR /, /^registers node /, /^renews the Lease/],
  ],
  ["lease --stop-after 2 --speed 15", 6, [/^falls silent: /, / to Unknown$/, TERMINATING]],
  [
    "lease --stop-after 1 --speed 15",
    6,
    [
      /^falls silent: /,
      / to Unknown$/,
      /^adds .*unreachable:NoExecute/,
      /^plans to delete pod default\/hasty/,
      TERMINATING,
    ],
  ],
];
for (const [line, least, sentences] of table) {
  test(`the story of kubelab ${line}`, async () => {
    const { events, stderr } = await runOf(...line.split(" "));
    const graph = TraceGraph.of(events);
    const told = stories(graph).at(-1);
    assert(told !== undefined, "no story");
    const texts = told.map(({ text }) => text);
    assert.ok(told.length >= least && told.length <= (line.includes("deployment") ? 35 : 25), texts.join("\n"));
    let at = 0;
    for (const sentence of sentences) {
      at = texts.findIndex((text, i) => i >= at && sentence.test(text)) + 1;
      assert.notEqual(at, 0, `${sentence} in its place of\n${texts.join("\n")}`);
    }
    const [first, last] = [told[0], told.at(-1)].map((step) => graph.get(step?.fact ?? ""));
    assert(first !== undefined && last !== undefined);
    assert.ok(graph.chainOf(last).includes(first), `the last step leads back to the first:\n${texts.join("\n")}`);
    assert.deepEqual(nameless(events), []);
    const say = (await sentencesIn("zh"))?.say ?? assert.fail();
    for (const text of texts) {
      assert.match(text, DOES, "a step says what its actor does");
      assert.match(say(text), /\p{Script=Han}/u, `the Chinese of ${text}`);
    }
    if (NUMBERED.test(line)) assert.deepEqual(numbersIn(stderr), numbersOf(graph));
    const bare = told.filter(({ why }) => why === undefined).map(({ text }) => text);
    // The steps of token and csr say their reasons themselves.
    assert.deepEqual(SELF_EXPLAINED.test(line) ? [] : bare, [], "each step has a reason");
    const repeated = told.filter(({ why }) => why !== undefined && texts.includes(why));
    assert.deepEqual(repeated, [], "a reason is no other step");
    assert.deepEqual(silent(events), [], "a step has an arrow, or it happens inside its actor");
    if (texts.some((text) => text.includes("falls silent: "))) assertSilenceLeadsTo(graph, last);
  });
}

const SELF_EXPLAINED = /^(?:token|csr)/;
/** Commands whose terminal shows the numbers of the story. */
const NUMBERED = /^(?:bootstrap|lease|token|csr|exec|logs)/;
/** The numbers in the terminal, and who did it. A request is shown with its answer, after what it caused. */
function numbersIn(stderr: string): string[] {
  const shown = stderr.matchAll(/^ *\d+\.\d+ (\w+) +(?:[▸◆●→✗] )?(\d+)\. /gm);
  return [...shown].map(([, actor, number]) => `${number} ${actor}`).toSorted();
}

/** The same of the stories. */
function numbersOf(graph: TraceGraph): string[] {
  const told = stories(graph).flatMap((steps) => steps.map(({ fact }, i) => `${i + 1} ${graph.get(fact)?.actor}`));
  return told.toSorted();
}

/** What happens inside an actor. The stages of a request are the API server's. */
const INSIDE = [
  /^checks whether this node needs|^starts the kubelet|^falls silent|falls silent: no more|plans to delete pod \S+ in \d+ s$/,
  /private key|certificate request|^wraps it|^stores key|^writes |the token .*means/,
  /^chooses |^(?:syncs|ends|cleans up after) pod |^has |^decides: |^runs |^PLEG sees |^counts |^sees that container \S+ has ended/,
  /^waits: |^reads the log|^serves | may (?:create|get) nodes\//,
];

/** The steps of all stories for which the page and the picture draw no arrow, and which should have one. */
function silent(events: readonly TraceEvent[]): string[] {
  const story = new Story();
  story.add(events.map((event) => ({ event, bodies: undefined })));
  return story.plots
    .flatMap(({ steps }) => steps)
    .filter(({ step, sent = step }) => messageOf(sent) === undefined)
    .filter(({ step, text }) => step.lane.actor !== "apiserver" && !INSIDE.some((inside) => inside.test(text)))
    .map(({ step, text }) => `${step.lane.key}: ${text}`);
}

function isRenewal(fact: TraceEvent): boolean {
  return fact.kind === "request" && fact.method !== "GET" && fact.path.includes("/leases");
}

/** @param last of a node's silence: each link of the chain, and the picture's Ready, are there */
function assertSilenceLeadsTo(graph: TraceGraph, last: TraceEvent): void {
  const chain = graph.chainOf(last);
  assert.ok(
    chain
      .slice(
        0,
        chain.findIndex((fact) => fact.kind === "decision" && /falls silent/.test(fact.what)),
      )
      .some(isRenewal),
    "the silence follows the last renewal",
  );
  const links = [/falls silent/, /conditions of .* to Unknown/, /:NoExecute/, /delete it in 20 s/];
  const places = links.map((link) => chain.findIndex((fact) => fact.kind === "decision" && link.test(fact.what)));
  assert.deepEqual(
    places,
    places.filter((place) => place > 0).toSorted((a, b) => a - b),
  );
  const before = graph.events.slice(0, graph.events.indexOf(chain[places[1] ?? 0] ?? last));
  const isUnknown = before.some((fact) => fact.kind === "state" && fact.what === "Ready" && fact.to === "Unknown");
  assert.ok(isUnknown, "Ready is Unknown once the decision is told");
}

/** Stories come with the keys of these. */
for (const line of ["pleg", "static-pod", "pod-worker", "node"]) {
  test(`kubelab ${line}: each fact of a node names it`, async () => {
    assert.deepEqual(nameless(await traceOf(line, "--duration", "3s")), []);
  });
}

test("a story is English in a file for programs, and every sentence of it has its Chinese", async () => {
  const graph = TraceGraph.of(await traceOf("journey", "--lang", "zh"));
  const [english] = graph.stories;
  const say = (await sentencesIn("zh"))?.say;
  assert(english !== undefined && say !== undefined);
  assert.equal(english.steps[0]?.text, "asks the API server to create pod web");
  const chinese = translated(english, say) as typeof english;
  const texts = [chinese.title, ...chinese.steps.flatMap(({ text, why = text }) => [text, why])];
  assert.deepEqual(
    texts.filter((text) => !/\p{Script=Han}/u.test(text)),
    [],
  );
});

async function traceOf(...args: readonly string[]): Promise<readonly TraceEvent[]> {
  return (await runOf(...args)).events;
}

async function runOf(...args: readonly string[]) {
  const home = newHome();
  const file = join(home, "trace.ndjson");
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const { code, stderr } = await runCliProcess(home, ...args.toSpliced(end, 0, "--trace", file));
  assert.equal(code, 0, stderr);
  return { events: (await readTrace(file)).events, stderr };
}

/** The steps of each story, those of later facts with the same title included. */
function stories({ stories: facts }: TraceGraph): StoryStep[][] {
  const told = new Map<string, StoryStep[]>();
  for (const { title, steps } of facts as readonly StoryFact[]) told.set(title, [...(told.get(title) ?? []), ...steps]);
  return [...told.values()];
}

function nameless(events: readonly TraceEvent[]): unknown[] {
  return events.filter(
    ({ actor, instance }) => ["kubelet", "runtime", "proxy"].includes(actor) && instance === undefined,
  );
}

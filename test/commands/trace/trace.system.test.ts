import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { missingPath } from "../../support/missing-path.js";
import { runInProcess } from "../../support/run-cli.js";
import { fact, note, request, state, watch } from "../../trace/facts.js";

const cwd = mkdtempSync(join(tmpdir(), "kubelab-trace-"));
const id = (n: number) => n.toString(16).padStart(16, "0");

/** The traces of three processes: a client, the API server, a kubelet. */
const CLIENT = [
  note(id(1), { atMs: 1_000, origin: "command" }),
  request(id(2), { atMs: 1_020, durationMs: 10, causedBy: id(1), version: "u@1" }),
];
const SERVER = [state(id(3), { atMs: 1_015, actor: "apiserver", causedBy: id(2), version: "u@1" })];
const upstream = { file: "pkg/kubelet/kubelet.go", func: "syncPod" };
const KUBELET = [
  watch(id(4), { atMs: 1_030, actor: "kubelet", instance: "n1", causedBy: "u@1", pod: "default/web" }),
  fact(
    id(5),
    { kind: "decision", what: "start the pod", why: "it is new", upstream },
    { atMs: 1_031, actor: "kubelet", instance: "n1", causedBy: id(4), pod: "default/web" },
  ),
];

function file(name: string, events: readonly TraceEvent[]): string {
  writeFileSync(join(cwd, name), events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  return name;
}

const kubelet = file("kubelet.ndjson", KUBELET);
const server = file("server.ndjson", SERVER);
const client = file("client.ndjson", CLIENT);
const run = (...argv: string[]) => runInProcess(["trace", ...argv], { cwd });

test("trace convert: three traces become one, in the order of time", async () => {
  const { code, stdout, stderr } = await run("convert", kubelet, client, server, "-o", "all.ndjson");
  assert.deepEqual([code, stdout, stderr], [0, "all.ndjson: 5 facts\n", ""]);
  const facts = readFileSync(join(cwd, "all.ndjson"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as TraceEvent);
  assert.deepEqual(
    facts.map((one) => one.id),
    [1, 3, 2, 4, 5].map(id),
  );
  assert.deepEqual(
    facts.map(({ seq }) => seq),
    [1, 2, 3, 4, 5],
  );
  assert.equal(statSync(join(cwd, "all.ndjson")).mode & 0o777, 0o600);
});

test("trace: - is standard input, once", async () => {
  const stdin = readFileSync(join(cwd, server));
  const read = (...argv: string[]) => runInProcess(["trace", ...argv], { cwd, stdin });
  assert.match((await read("explain", "-")).stdout, /apiserver o Pod default\/web/);
  const { stdout } = await read("convert", "-", client, "-o", "two.ndjson");
  assert.equal(stdout, "two.ndjson: 3 facts\n");
  const twice = await read("diff", "-", "-");
  assert.deepEqual([twice.code, twice.stderr.split("\n")[0]], [1, "error: the trace standard input has no facts"]);
  const page = await read("view", "--page", "-");
  assert.deepEqual([page.code, /standard input has no folder/.test(page.stderr)], [2, true]);
});

for (const [name, begin] of [
  ["a.html", "<!doctype html>"],
  ["a.mmd", "sequenceDiagram"],
  ["a.svg", "<svg xmlns="],
  ["a.json", '{"displayTimeUnit"'],
  ["a.otlp.json", '{"resourceSpans"'],
] as const) {
  test(`trace convert: writes ${name}`, async () => {
    const { code, stderr } = await run("convert", kubelet, client, "-o", name);
    assert.equal(code, 0, stderr);
    assert.ok(readFileSync(join(cwd, name), "utf8").startsWith(begin));
  });
}

test("trace explain: the chain of an object goes from the user's command through every process", async () => {
  const { code, stdout } = await run("explain", kubelet, "start the", client, server);
  assert.equal(code, 0);
  assert.deepEqual(stdout.trimEnd().split("\n"), [
    "It began with a user's command.",
    "  1   0.000 user       - 0000000000000001",
    "  2   0.010 user       - POST /api/v1/namespaces/default/pods -> 201 (10 ms, as",
    "                       certificate kubernetes-admin)",
    "  3   0.015 apiserver  o Pod default/web: object stored",
    "  4   0.030 kubelet n1 < watch event ADDED pods default/web",
    "  5   0.031 kubelet n1 * start the pod",
    "                         it is new",
    "                         pkg/kubelet/kubelet.go syncPod",
    "It caused nothing more.",
  ]);
});

test("trace explain: a cause that no trace has is named", async () => {
  const { stdout } = await run("explain", kubelet, id(5));
  assert.match(
    stdout,
    /^It began with a cause that was not observed: the writer of the object version u@1 is in none of the traces\./,
  );
});

for (const [what, last] of [
  [id(2), id(2)],
  ["START the", id(5)],
  ["pod/default/web", id(3)],
  ["pods/web", id(3)],
  [undefined, id(5)],
] as const) {
  test(`trace explain ${what}: ends with that fact`, async () => {
    const { stdout } = await run("explain", client, server, kubelet, "--json", ...(what === undefined ? [] : [what]));
    const { chain } = JSON.parse(stdout) as { readonly chain: readonly TraceEvent[] };
    assert.equal(chain.at(-1)?.id, last);
    assert.equal(chain[0]?.id, id(1));
  });
}

test("trace: a trace whose last line a killed run left unfinished is read, and that is said", async () => {
  const path = file("cut.ndjson", KUBELET);
  truncateSync(join(cwd, path), statSync(join(cwd, path)).size - 20);
  const { code, stderr } = await run("explain", path);
  assert.equal(code, 0);
  assert.match(stderr, /cut\.ndjson: line 2 is cut off, because the run was killed; the facts before it are there: 1/);
});

test("trace view: without a terminal the trees are printed, with what each began with", async () => {
  const { code, stdout } = await run("view", kubelet, client);
  assert.equal(code, 0);
  assert.equal(
    stdout,
    `   0.000 user - 0000000000000001 (a user's command)
   0.010   user - POST /api/v1/namespaces/default/pods -> 201 (10 ms, as certificate kubernetes-admin)
   0.030     kubelet n1 < watch event ADDED pods default/web
   0.031       kubelet n1 * start the pod
`,
  );
  const json = await run("view", kubelet, "--json");
  const trees = JSON.parse(json.stdout) as readonly {
    readonly beginning: string;
    readonly facts: readonly unknown[];
  }[];
  assert.deepEqual(
    trees.map(({ facts }) => facts.length),
    [2],
  );
  assert.match(trees[0]?.beginning ?? "", /^a cause that was not observed: the writer of the object version u@1/);
});

test("trace view: of a page the address is printed", async () => {
  writeFileSync(join(cwd, "a page.html"), "<!doctype html>");
  const { code, stdout } = await run("view", "a page.html");
  assert.deepEqual([code, stdout], [0, `${pathToFileURL(join(cwd, "a page.html")).href}\n`]);
});

test("trace view --page: writes the page beside the trace", async () => {
  const { code, stdout } = await run("view", kubelet, client, "--page");
  assert.deepEqual([code, stdout], [0, `${pathToFileURL(join(cwd, "kubelet.html")).href}\n`]);
  assert.match(readFileSync(join(cwd, "kubelet.html"), "utf8"), /start the pod/);
});

test("trace diff: lists what one run has, other fields and other times", async () => {
  const a = file("a.ndjson", [...CLIENT, ...SERVER]);
  const b = file("b.ndjson", [
    note(id(1), { atMs: 5_000 }),
    request(id(2), { atMs: 5_200, durationMs: 100, status: 409 }),
  ]);
  const { code, stdout } = await run("diff", a, b);
  assert.equal(code, 0);
  assert.equal(
    stdout,
    `a.ndjson: 3 facts in 0.020 s; b.ndjson: 2 facts in 0.200 s; 2 happened in both.

Only in a.ndjson (1):
     0.015 apiserver o Pod default/web: object stored

With other fields (1):
  user - POST /api/v1/namespaces/default/pods -> 201 (10 ms, as certificate kubernetes-admin): status 201 -> 409

Longer or shorter (1):
  user - POST /api/v1/namespaces/default/pods -> 201 (10 ms, as certificate kubernetes-admin): 10 ms -> 100 ms
`,
  );
});

test("trace diff: another order is shown with what came before", async () => {
  const notes = (...texts: readonly string[]) =>
    texts.map((text, i) => fact(id(i + 1), { kind: "note", text }, { atMs: i }));
  const { stdout } = await run(
    "diff",
    file("c.ndjson", notes("a", "b", "c", "d")),
    file("d.ndjson", notes("a", "d", "b", "c")),
  );
  assert.match(stdout, /In another order \(1\):\n {2}user - d: after user - c; now after user - a\n/);
});

test("trace diff: more than twenty differences are counted, --all lists them", async () => {
  const many = file("e.ndjson", [...CLIENT, ...Array.from({ length: 30 }, (_, i) => note(id(100 + i), {}))]);
  const [short, long] = [await run("diff", many, client), await run("diff", many, client, "--all")];
  assert.match(short.stdout, /\(30\):[\s\S]*\.\.\. and 10 more: --all lists them/);
  assert.equal(long.stdout.split("\n").length, short.stdout.split("\n").length + 9);
});

test("trace diff: two runs without a difference", async () => {
  const { stdout } = await run("diff", client, client);
  assert.match(stdout, /They have the same facts, in the same order, with the same fields\.\n$/);
});

file("empty.ndjson", []);
file("other.ndjson", [note(id(1), { actor: "runtime" })]);
writeFileSync(join(cwd, "newer.ndjson"), '{"format":2}\n');
writeFileSync(join(cwd, "damaged.ndjson"), `${JSON.stringify(CLIENT[0])}\n{"seq"\n${JSON.stringify(CLIENT[1])}\n`);
const BAD: readonly (readonly [readonly string[], number, RegExp])[] = [
  [["explain", "missing.ndjson"], 2, /cannot read the trace .*missing\.ndjson: no such file or folder/],
  [["explain", "empty.ndjson"], 1, /the trace empty\.ndjson has no facts/],
  [["explain", "newer.ndjson"], 1, /newer\.ndjson, line 1: it was written in format 2/],
  [["convert", "damaged.ndjson", "-o", "x.json"], 1, /damaged\.ndjson, line 2: it is not JSON/],
  [["explain", client, "pod/nope"], 1, /none of the 2 facts/],
  [["convert", client, "-o", "x.pdf"], 2, /x\.pdf: the ending of the name chooses the format/],
  [["convert", client, "-o", missingPath("x.json")], 2, /cannot write the trace to \S+none\/x\.json/],
  [["view", "damaged.ndjson"], 1, /damaged\.ndjson, line 2: it is not JSON/],
  [["view", "missing.html"], 2, /there is no page missing\.html/],
  [["view"], 2, /missing required argument 'files'/],
  [["diff", client, "other.ndjson"], 1, /client\.ndjson and other\.ndjson have nothing in common/],
  [["diff", client], 2, /missing required argument 'b'/],
  [["diff", client, "damaged.ndjson"], 1, /damaged\.ndjson, line 2/],
  [["convert", client], 2, /required option '-o, --output <file>'/],
  [["convert", "-o", "x.json"], 2, /missing required argument 'files'/],
];
for (const [argv, exit, message] of BAD) {
  test(`trace ${argv.join(" ")}: exit ${exit}`, async () => {
    const { code, stderr } = await run(...argv);
    assert.match(stderr.replace(/\s+/g, " "), message);
    assert.equal(code, exit);
  });
}

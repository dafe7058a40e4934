import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { TraceEvent } from "../../src/trace/events.js";
import { runInProcess } from "../support/run-cli.js";
import { fact, note, request, state, watch } from "../trace/facts.js";

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

for (const [name, begin] of [
  ["a.mmd", "sequenceDiagram"],
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
    "  1    0.000 user · 0000000000000001",
    "  2    0.010 user → POST /api/v1/namespaces/default/pods → 201 (10 ms,",
    "             as certificate kubernetes-admin)",
    "  3    0.015 apiserver ● Pod default/web: object stored",
    "  4    0.030 kubelet n1 ← watch event ADDED pods default/web",
    "  5    0.031 kubelet n1 ◆ start the pod",
    "             it is new",
    "             pkg/kubelet/kubelet.go syncPod",
    "It caused nothing more.",
  ]);
});

test("trace explain: a cause that no trace has is named", async () => {
  const { stdout } = await run("explain", kubelet, id(5));
  assert.match(stdout, /^It began with not observed: whoever wrote the object version u@1 is in none of the traces\./);
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

file("empty.ndjson", []);
writeFileSync(join(cwd, "newer.ndjson"), '{"format":2}\n');
writeFileSync(join(cwd, "damaged.ndjson"), `${JSON.stringify(CLIENT[0])}\n{"seq"\n${JSON.stringify(CLIENT[1])}\n`);
const BAD: readonly (readonly [readonly string[], number, RegExp])[] = [
  [["explain", "missing.ndjson"], 2, /cannot read the trace .*missing\.ndjson: no such file or folder/],
  [["explain", "empty.ndjson"], 1, /the trace empty\.ndjson has no facts/],
  [["explain", "newer.ndjson"], 1, /newer\.ndjson, line 1: it was written in format 2/],
  [["convert", "damaged.ndjson", "-o", "x.json"], 1, /damaged\.ndjson, line 2: it is not JSON/],
  [["explain", client, "pod/nope"], 1, /none of the 2 facts/],
  [["convert", client, "-o", "x.pdf"], 2, /x\.pdf: the ending of the name chooses the format/],
  [["convert", client, "-o", "/nonexistent/x.json"], 2, /cannot write the trace to \/nonexistent\/x\.json/],
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

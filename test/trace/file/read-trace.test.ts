import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { NdjsonSink, TRACE_FORMAT } from "../../../src/trace/file/ndjson.js";
import { readTrace } from "../../../src/trace/file/read-trace.js";
import { missingPath } from "../../support/missing-path.js";
import { fact, note, request, rpc, state, watch } from "../facts.js";

const folder = mkdtempSync(join(tmpdir(), "kubelab-read-"));
const ID = "0123456789abcdef";
const FACTS: readonly TraceEvent[] = [
  note(ID, { origin: "command" }),
  request("0123456789abcde1", { version: "u@1", responseBody: { text: "中文 ".repeat(50_000) } }),
  rpc("0123456789abcde2", { causedBy: ID }),
  state("0123456789abcde3", { causedBy: "u@1", instance: "node-1", pod: "default/web" }),
  watch("0123456789abcde4", { causedBy: "u@1" }),
  fact("0123456789abcde5", { kind: "table", title: "t", columns: ["a"], rows: [["b"]] }, {}),
  fact("0123456789abcde6", { kind: "decision", what: "w", why: "y", constants: [{ name: "n", value: "v" }] }, {}),
];
const line = (event: unknown) => `${JSON.stringify(event)}\n`;

function file(content: string | Buffer): string {
  const path = join(folder, "t.ndjson");
  writeFileSync(path, content);
  return path;
}

test("readTrace: what the sink writes comes back, across the chunks of the file", async () => {
  const path = join(folder, "whole.ndjson");
  const sink = new NdjsonSink(path);
  for (const event of FACTS) sink.write(event);
  await sink.close();
  const { events, cutLine } = await readTrace(path);
  assert.deepEqual(events, [{ format: TRACE_FORMAT, ...FACTS[0] }, ...FACTS.slice(1)]);
  assert.equal(cutLine, undefined);
});

const ACCEPTED: readonly (readonly [string, string | Buffer, number, number?])[] = [
  ["an empty file", "", 0],
  ["no line feed at the end", FACTS.map(line).join("").trimEnd(), FACTS.length],
  ["empty lines and those of Windows", FACTS.map((one) => `${JSON.stringify(one)}\r\n\r\n`).join(""), FACTS.length],
  ["a byte order mark", `\ufeff${line(FACTS[0])}`, 1],
  ["two files one after the other", line({ format: 1, ...FACTS[0] }) + line({ format: 1, ...FACTS[0] }), 2],
  ["a last line that a killed run left unfinished", line(FACTS[0]) + line(FACTS[0]).slice(0, 40), 1, 2],
  [
    "one that is cut inside of a character",
    Buffer.concat([Buffer.from(line(FACTS[0])), Buffer.from('{"text":"\xe4').subarray(0, -1)]),
    1,
    2,
  ],
  ["fields that this version does not know", line({ ...FACTS[0], mood: "good" }), 1],
];
for (const [title, content, count, cut] of ACCEPTED) {
  test(`readTrace: accepts ${title}`, async () => {
    const { events, cutLine } = await readTrace(file(content));
    assert.deepEqual([events.length, cutLine], [count, cut]);
  });
}

const without = (name: string) => ({ ...FACTS[1], [name]: undefined });
const REFUSED: readonly (readonly [string | Buffer, RegExp])[] = [
  ["hello\n", /line 1: it is not JSON/],
  [`${line(FACTS[0])}{"seq":2,\n${line(FACTS[0])}`, /line 2: it is not JSON/],
  ['{"seq":1', /line 1: it is not JSON/],
  ["[1]\n", /line 1: the file is a Chrome trace/],
  ['{"displayTimeUnit":"ms","traceEvents":[\n', /line 1: the file is a Chrome trace, without the facts/],
  ['{"resourceSpans":[\n', /line 1: the file is OpenTelemetry spans/],
  ["sequenceDiagram\n", /line 1: the file is a Mermaid diagram/],
  ["<!doctype html>\n", /line 1: the file is an HTML page/],
  [Buffer.from([0x1f, 0x8b, 0xff, 0xfe, 10]), /line 1: it is not UTF-8 text/],
  [Buffer.from(line(FACTS[0]), "utf16le"), /line 1: /],
  ["null\n", /line 1: it is not a JSON object/],
  ['{"level":"info","msg":"x"}\n', /line 1: it is not a fact: it has no "kind"/],
  [line({ ...FACTS[0], kind: "dream" }), /line 1: its kind "dream" is not known/],
  [line({ ...FACTS[0], kind: "__proto__" }), /line 1: its kind "__proto__" is not known/],
  [
    line(FACTS[0]) + line({ ...FACTS[0], format: 2 }),
    /line 2: it was written in format 2, and this kubelab reads format 1/,
  ],
  [line({ format: 7 }), /line 1: it was written in format 7/],
  [line({ ...FACTS[0], id: undefined }), /line 1: it has no "id"/],
  [line({ ...FACTS[0], id: "1" }), /its "id" is "1"/],
  [line({ ...FACTS[0], actor: "gardener" }), /its "actor" is "gardener"/],
  [line({ ...FACTS[0], atMs: 1e300 }), /its "atMs" is/],
  [line({ ...FACTS[0], causedBy: 7 }), /its "causedBy" is 7/],
  [line({ ...FACTS[0], pod: {} }), /its "pod" is \{\}/],
  [line(without("method")), /it has no "method"/],
  [line({ ...FACTS[1], durationMs: -1 }), /its "durationMs" is -1/],
  [line({ ...FACTS[1], status: "200" }), /its "status" is "200"/],
  [line({ ...FACTS[6], constants: [{ name: 1, value: "v" }] }), /its "constants" is/],
  [line({ ...FACTS[5], rows: ["b"] }), /its "rows" is/],
];
for (const [content, message] of REFUSED) {
  test(`readTrace: names file and line: ${message.source}`, async () => {
    await assert.rejects(readTrace(file(content)), (error: Error) => {
      assert.match(error.message, /^cannot read the trace \/.*t\.ndjson, line \d+: /);
      assert.match(error.message, message);
      assert.equal((error as { exitCode?: number }).exitCode, 1);
      return true;
    });
  });
}

test("readTrace: a file above the limit is refused with the limit, before it is read", async () => {
  const path = file(FACTS.map(line).join(""));
  await assert.rejects(readTrace(path, undefined, 1024), { code: "FAILED", message: /has more than 1024 bytes/ });
});

test("readTrace: a kind that a newer kubelab may have is named as such", async () => {
  const newer = readTrace(file(line({ ...FACTS[0], kind: "dream" } as object)));
  await assert.rejects(newer, { hint: /^A newer kubelab may have written it/ });
});

test("readTrace: a missing file, a folder", async () => {
  await assert.rejects(readTrace(missingPath("t.ndjson")), { code: "BAD_FILE", message: /no such file or folder/ });
  await assert.rejects(readTrace(folder), { code: "BAD_FILE", message: /it is a folder/ });
});

test("readTrace: Ctrl-C ends the reading", async () => {
  await assert.rejects(readTrace(file(line(FACTS[0])), AbortSignal.abort()), { name: "AbortError" });
});

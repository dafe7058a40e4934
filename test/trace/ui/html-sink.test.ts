import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { HtmlSink } from "../../../src/trace/ui/html-sink.js";
import { untilTrue } from "../../support/fake-clock.js";
import { missingPath } from "../../support/missing-path.js";

const note: TraceEvent = {
  seq: 1,
  id: "0000000100000001",
  atMs: 0,
  actor: "user",
  level: 1,
  kind: "note",
  text: "hello",
};

async function page(): Promise<{ readonly path: string; readonly text: string }> {
  const path = join(mkdtempSync(join(tmpdir(), "kubelab-trace-")), "t.html");
  const sink = new HtmlSink(path);
  sink.write(note);
  await sink.close();
  await sink.close();
  return { path, text: readFileSync(path, "utf8") };
}

test("html: one file, readable by its owner only, ends after its facts", async () => {
  const { path, text } = await page();
  assert.match(text, /^<!doctype html>/);
  assert.match(text, /id="facts">\n\{.*"text":"hello"\}\n<\/script>\n<\/body>\n<\/html>\n$/);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("html: only the page's own program and style may run, by their hashes", async () => {
  const { text } = await page();
  const [, policy = ""] = /Content-Security-Policy" content="([^"]+)"/.exec(text) ?? [];
  assert.match(policy, /^default-src 'none';/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  for (const element of ["<style>", '<script type="module" async>']) {
    const [, after = ""] = text.split(element);
    const content = after.slice(0, after.search(/<\/(?:style|script)>/));
    const hash = createHash("sha256").update(content).digest("base64");
    assert.ok(policy.includes(`'sha256-${hash}'`), `${element} is the content of the policy's hash`);
  }
});

test("html: the page without facts is small", async () => {
  const { text } = await page();
  assert.ok(gzipSync(text).length < 120_000, `${gzipSync(text).length} bytes`);
});

test("html: facts are in the file while the run goes on", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "kubelab-trace-")), "t.html");
  const sink = new HtmlSink(path);
  sink.write(note);
  await untilTrue(() => readFileSync(path, "utf8").includes('"hello"'));
  sink.write({ ...note, text: "later" });
  assert.match(readFileSync(path, "utf8"), /"later"\}\n$/);
  await sink.close();
});

test("html: a file that cannot be created is reported before anything else happens", () => {
  const path = missingPath("t.html");
  assert.throws(() => new HtmlSink(path), {
    code: "BAD_FILE",
    message: `cannot write the trace to ${path}: no such file or folder`,
  });
});

test.skipIf(!existsSync("/dev/full"))("html: a full disk does not end the run; it is reported at the end", async () => {
  const sink = new HtmlSink("/dev/full");
  sink.write(note);
  await assert.rejects(sink.close(), { code: "BAD_FILE", message: /no space left/ });
  await sink.close();
});

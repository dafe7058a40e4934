import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { NdjsonSink } from "../../../src/trace/file/ndjson.js";
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

test("ndjson: one fact per line, readable by its owner only", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "kubelab-trace-")), "t.ndjson");
  const sink = new NdjsonSink(path);
  sink.write(note);
  sink.write({ ...note, seq: 2 });
  await sink.close();
  assert.deepEqual(
    readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as TraceEvent).seq),
    [1, 2],
  );
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("ndjson: a file that cannot be created is reported before anything else happens", () => {
  const path = missingPath("t.ndjson");
  assert.throws(() => new NdjsonSink(path), {
    code: "BAD_FILE",
    message: `cannot write the trace to ${path}: no such file or folder`,
  });
});

test.skipIf(!existsSync("/dev/full"))(
  "ndjson: a full disk does not end the traced command; it is reported at the end",
  async () => {
    const sink = new NdjsonSink("/dev/full");
    sink.write(note);
    sink.write(note);
    await assert.rejects(sink.close(), { code: "BAD_FILE", message: /no space left/ });
    await sink.close();
  },
);

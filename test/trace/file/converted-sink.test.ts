import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { formatOf } from "../../../src/commands/cli/trace-file.js";
import { ConvertedSink } from "../../../src/trace/file/converted-sink.js";
import { missingPath } from "../../support/missing-path.js";
import { note } from "../facts.js";

const newFolder = () => mkdtempSync(join(tmpdir(), "kubelab-trace-"));
const FACT = note("0123456789abcdef", {});

for (const [name, begin] of [
  ["t.mmd", "sequenceDiagram\n"],
  ["t.svg", "<svg xmlns="],
  ["t.json", '{"displayTimeUnit"'],
  ["t.otlp.json", '{"resourceSpans"'],
  ["t.ndjson", '{"format":1,"seq"'],
] as const) {
  test(`--trace ${name}: the ending chooses the format; only the owner can read the file`, async () => {
    const path = join(newFolder(), name);
    const sink = formatOf(path).open(path);
    sink.write(FACT);
    await sink.close?.();
    await sink.close?.();
    assert.ok(readFileSync(path, "utf8").startsWith(begin));
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(existsSync(`${path}.ndjson`), false);
  });
}

test("--trace: an unknown ending is a usage error that has the known ones", () => {
  assert.throws(() => formatOf("t.pdf"), {
    code: "USAGE",
    message: /none of .*\.ndjson, \.mmd, \.otlp\.json, \.json/,
  });
});

test("ConvertedSink: until the end the facts are in FILE.ndjson, which a killed run leaves", async () => {
  const path = join(newFolder(), "t.mmd");
  const sink = new ConvertedSink(path, async () => () => ["done"]);
  sink.write(FACT);
  const facts = readFileSync(`${path}.ndjson`, "utf8");
  assert.deepEqual(JSON.parse(facts), { format: 1, ...FACT });
  assert.equal(statSync(`${path}.ndjson`).mode & 0o777, 0o600);
  await sink.close();
  assert.equal(readFileSync(path, "utf8"), "done");
});

test("ConvertedSink: a file that cannot be created is reported before anything else happens", () => {
  assert.throws(() => new ConvertedSink(missingPath("t.mmd"), async () => () => []), { code: "BAD_FILE" });
  const folder = newFolder();
  mkdirSync(join(folder, "t.mmd"));
  assert.throws(() => new ConvertedSink(join(folder, "t.mmd"), async () => () => []), { message: /it is a folder/ });
});

test.skipIf(!existsSync("/dev/full"))(
  "ConvertedSink: a full disk is reported at the end, and the facts stay",
  async () => {
    const path = join(newFolder(), "t.mmd");
    symlinkSync("/dev/full", path);
    const sink = formatOf(path).open(path);
    sink.write(FACT);
    await assert.rejects(async () => sink.close?.(), {
      code: "BAD_FILE",
      message: /no space left/,
      hint: /kubelab trace convert/,
    });
    assert.match(readFileSync(`${path}.ndjson`, "utf8"), /0123456789abcdef/);
  },
);

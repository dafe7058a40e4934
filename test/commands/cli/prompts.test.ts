import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { test } from "vitest";
import { askYesNo } from "../../../src/commands/cli/prompts.js";

test("a question that is longer than the terminal is broken between words, and answered", async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 40 });
  // A pipe into it does not end it.
  Object.assign(stderr, { end: () => stderr });
  let shown = "";
  stderr.on("data", (chunk) => {
    if (shown === "") setImmediate(() => stdin.write("y\r"));
    shown += String(chunk);
  });
  const question = "Approve the request of somebody: a certificate for system:node:node-1?";
  const streams = { stdin, stderr, stdout: new PassThrough() };
  assert.equal(await askYesNo(question, "--yes", streams, new AbortController().signal), true);
  const first = stripVTControlCharacters(shown).replaceAll("\r", "").split("(y/N)")[0] ?? "";
  assert.equal(first.replace(/^\? /, "").replaceAll(/\s+/g, " ").trim(), question);
  assert.deepEqual(
    first.split("\n").filter((line) => line.length > 40),
    [],
  );
});

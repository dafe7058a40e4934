import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { PassThrough } from "node:stream";
import { CommanderError } from "commander";
import { test } from "vitest";
import { buildProgram } from "../src/commands/cli/program.js";
import { CliSession } from "../src/commands/cli/session.js";
import { PROGRAM } from "../src/commands/main.js";
import { SystemRandom } from "../src/util/random.js";
import { codeBlocks } from "./support/course.js";

const blocks = codeBlocks("docs/course.md");

test("both languages of docs/course.md have the same code", () => {
  assert.ok(blocks.length > 20, `found ${blocks.length}`);
  assert.deepEqual(codeBlocks("docs/course.zh.md"), blocks);
});

test("a block is typed here, typed elsewhere, or a file", () => {
  assert.deepEqual([...new Set(blocks.map(({ info }) => info))].sort(), ["sh", "sh elsewhere", "toml"]);
  assert.ok(existsSync("examples/kubelab-node.service"));
});

const LINES = blocks
  .filter(({ info }) => info.startsWith("sh"))
  .flatMap(({ text }) => text.split("\n"))
  .filter((line) => line.startsWith("kubelab "));
for (const line of LINES) {
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

function session(): CliSession {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const { signal } = new AbortController();
  const edge = { env: {}, cwd: "/", streams: { stdin, stdout, stderr }, random: new SystemRandom(), self: [], signal };
  return new CliSession(edge, PROGRAM);
}

/** The words of a command line up to a redirection, without their quotes. */
function wordsOf(line: string): string[] {
  const [command = ""] = line.split(/ (?:> |&$)/);
  return (command.match(/'[^']*'|"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^(['"])(.*)\1$/, "$2"));
}

import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { runCli } from "../../src/commands/main.js";
import { Secrets } from "../../src/trace/redaction/secrets.js";
import { LabError } from "../../src/util/errors.js";
import { SystemRandom } from "../../src/util/random.js";
import { formsFound, randomSecret } from "../support/secret-search.js";

/** The stderr of a run whose output throws `error`. */
async function reportOf(error: Error, secrets: Secrets): Promise<{ code: number; stderr: string }> {
  const stderr = new PassThrough();
  const stdout = new PassThrough();
  stdout.write = () => {
    throw error;
  };
  const code = await runCli(["--help"], "0", {
    env: {},
    cwd: "/",
    streams: { stdin: new PassThrough(), stdout, stderr },
    random: new SystemRandom(),
    self: ["false"],
    signal: new AbortController().signal,
    secrets,
  });
  return { code, stderr: String(stderr.read()) };
}

test("neither the report of a bug nor an error message shows a secret that the process has seen", async () => {
  const value = randomSecret();
  const secrets = new Secrets();
  secrets.learn(value);
  const text = `cannot parse {"password": ${JSON.stringify(value)}, "auth": "${Buffer.from(`me:${value}`).toString("base64")}"}`;
  const bug = await reportOf(new SyntaxError(text), secrets);
  expect([bug.code, formsFound(bug.stderr, value)]).toEqual([70, []]);
  expect(bug.stderr).toMatch(/^error: kubelab has a bug: SyntaxError: cannot parse \{"password": "\*{4}", /);
  const expected = await reportOf(new LabError("FAILED", text, `try ${value}`), secrets);
  expect([expected.code, formsFound(expected.stderr, value)]).toEqual([1, []]);
});

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { CliSession } from "../../../../src/commands/cli/session.js";
import { PROGRAM } from "../../../../src/commands/main.js";
import { openEmbeddedEnvironment } from "../../../../src/lab/labs/environment/embedded-environment.js";
import { openLibrary } from "../../../../src/lab/labs/format/open-library.js";
import { SystemRandom } from "../../../../src/util/random.js";

test("the log of a lab's node does not wrap what the kubelet reports, for grep", async () => {
  const home = mkdtempSync(join(tmpdir(), "kubelab-log-"));
  const context = new CliSession(
    {
      env: { ...process.env, HOME: home, XDG_STATE_HOME: join(home, "state") },
      cwd: home,
      streams: { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
      random: new SystemRandom(),
      self: [process.execPath, resolve("dist/cli.js")],
      signal: new AbortController().signal,
    },
    PROGRAM,
  );
  try {
    const definition = (await (await openLibrary()).load("without-api-server"))?.definition;
    assert.ok(definition !== undefined);
    await using environment = await openEmbeddedEnvironment(context, {
      clusterName: "log",
      speed: 10,
      definition: { ...definition, nodes: 1, apiServerPod: false },
      columns: 80,
      isColoured: false,
      language: "en",
    });
    const requests = () =>
      readFileSync(join(environment.folder, "node-1", "kubelet.log"), "utf8")
        .split("\n")
        .filter((line) => /→ (GET|PATCH|POST) /.test(line));
    await expect.poll(() => requests().length, { timeout: 30_000 }).toBeGreaterThan(0);
    for (const line of requests()) assert.match(line, / → (\d|http).*\)$/);
  } finally {
    await context.close();
    rmSync(home, { recursive: true, force: true });
  }
});

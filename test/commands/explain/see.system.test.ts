import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { openTopics } from "../../../src/commands/explain/open-topics.js";
import { seeOf } from "../../../src/commands/explain/show.js";
import { newHome, runCliProcess } from "../../support/cli-process.js";
import { suiteNeeding } from "../../support/requirements.js";

const LINES = new Set((await openTopics("en")).flatMap(({ topics }) => topics.flatMap(seeOf)));

suiteNeeding(["kubectl"], "commands that explain topics", () => {
  const home = newHome();
  const kubeconfig = join(home, "state", "kubelab", "clusters", "see.kubeconfig");

  beforeAll(async () => {
    const started = await runCliProcess(home, "cluster", "up", "--name", "see", "--nodes", "1", "--detach");
    assert.equal(started.code, 0, started.stderr);
  });
  afterAll(async () => {
    await runCliProcess(home, "cluster", "down", "--name", "see");
  });

  test("kubectl takes each, one after the other", async () => {
    const failed: string[] = [];
    for (const line of LINES) {
      if (!line.startsWith("kubectl ")) continue;
      const stderr = await pasted(line);
      if (stderr !== undefined) failed.push(`${line}\n${stderr}`);
    }
    assert.deepEqual(failed, []);
  });

  /** @returns undefined after success */
  function pasted(line: string): Promise<string | undefined> {
    const env = { ...process.env, HOME: home, KUBECONFIG: kubeconfig };
    return new Promise((resolve) => {
      execFile("sh", ["-c", line], { env, timeout: 30_000, maxBuffer: 1 << 24 }, (error, _stdout, stderr) => {
        resolve(error === null ? undefined : stderr || error.message);
      });
    });
  }
});

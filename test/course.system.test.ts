import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, test } from "vitest";
import { newHome, runCliProcess } from "./support/cli-process.js";
import { codeBlocks } from "./support/course.js";
import { freePort } from "./support/free-port.js";
import { suiteNeeding } from "./support/requirements.js";

const blocks = codeBlocks("docs/course.md");
const TIMEOUT_MS = 480_000;

suiteNeeding(["kubectl", "openssl", "curl"], "docs/course.md", () => {
  const home = newHome();
  afterAll(async () => {
    await runCliProcess(home, "cluster", "down");
  });

  test("each command of the page works, in the order of the page", { timeout: TIMEOUT_MS }, async () => {
    const bin = join(home, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "kubelab"), `#!/bin/sh\nexec '${process.execPath}' '${resolve("dist/cli.js")}' "$@"\n`);
    chmodSync(join(bin, "kubelab"), 0o755);
    let script = blocks.flatMap(({ info, text }) => (info === "sh" ? [text] : [])).join("");
    for (const port of new Set(script.match(/\b(?:8080|8081|10348|10355)\b/g))) {
      script = script.replaceAll(port, String(await freePort()));
    }
    const { code, output } = await inShell(script, home, bin);
    assert.equal(code, 0, output.slice(-4_000));
  });

  test("what is typed elsewhere is a shell's", async () => {
    for (const { info, text } of blocks) {
      if (info === "sh elsewhere") await promisify(execFile)("bash", ["-n", "-c", text]);
    }
  });
});

/** Runs the script in a process group of its own, which ends with it: commands with `&` stay until then. */
function inShell(script: string, home: string, bin: string): Promise<{ code: number | null; output: string }> {
  const env = {
    PATH: `${bin}:${process.env["PATH"]}`,
    HOME: home,
    XDG_STATE_HOME: join(home, "state"),
    LANG: "C.UTF-8",
  };
  const shell = spawn("bash", ["-ex", "-c", script], {
    cwd: home,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [shell.stdout, shell.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  return new Promise((done) => {
    shell.once("exit", (code) => {
      if (shell.pid !== undefined) process.kill(-shell.pid, "SIGTERM");
      done({ code, output });
    });
  });
}

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, test } from "vitest";
import { CliProcess, type Ended, newHome } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";

/** One learner: a home folder and commands. */
class Learner {
  readonly home = newHome();

  async type(line: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    return await new CliProcess(this.home, ["learn", ...line.split(" ")], { TMPDIR: tmpdir(), ...env }).ended;
  }

  get folder(): string {
    return join(this.home, "state/kubelab/learn");
  }

  get progress(): Record<string, { done: string[] }> {
    return JSON.parse(readFileSync(join(this.folder, "progress.json"), "utf8")).labs;
  }

  get session(): { pid: number; lab: string; language: string; speed?: number } {
    return JSON.parse(readFileSync(join(this.folder, "session.json"), "utf8"));
  }
}

const learners: Learner[] = [];
function newLearner(): Learner {
  const learner = new Learner();
  learners.push(learner);
  return learner;
}
afterEach(async () => {
  for (const learner of learners.splice(0)) {
    await learner.type("stop");
    rmSync(learner.home, { recursive: true, force: true });
  }
});
const labFolders = () => readdirSync(tmpdir()).filter((name) => name.startsWith("kubelab-lab-"));

suiteNeeding(["kubectl", "openssl"], "a check that takes time", () => {
  test("checks once, and prints how long it may take; with --wait it waits", async () => {
    const learner = newLearner();
    await learner.type("start wrong-ca-hash --speed 40");
    for (const line of ["next", "next", "next not-sent", "solution"]) {
      assert.equal((await learner.type(line)).code, 0, line);
    }
    const once = await learner.type("check");
    assert.equal(once.code, 1);
    assert.match(once.stdout, /not yet\n +now: [\s\S]*\n +goal: /);
    assert.match(once.stderr, /It may take up to 60 s of the lab's time: kubelab learn check --wait\n/);
    assert.doesNotMatch(once.stderr, /waiting for:/);
    const waited = await learner.type("check --wait");
    assert.equal(waited.code, 1);
    assert.match(waited.stderr, /waiting for: /);
    assert.doesNotMatch(waited.stderr, /It may take/);
  });
});

suiteNeeding(["kubectl"], "a lab in the background", () => {
  test("start, check, next, hint, solution, status, speed, stop: each reports what it did, by exit code too", async () => {
    const learner = newLearner();
    const begun = await learner.type("start heartbeats --speed 40");
    assert.equal(begun.code, 0, begun.stderr);
    assert.match(begun.stdout, /Lab 1: .*\n[\s\S]*Step 1 of/);
    const early = await learner.type("check");
    assert.equal(early.code, 1);
    assert.match(early.stdout, /now: .*[\s\S]*\n +goal: /);
    const useless = await learner.type("next false-by-kubelet");
    assert.equal(useless.code, 2);
    assert.match(useless.stderr, /step \w+ asks no question; false-by-kubelet is not needed\nIt runs a command/);
    const next = await learner.type("next");
    assert.equal(next.code, 0, next.stderr);
    assert.match(next.stdout, /\$ kubelab lease --node \w+[\s\S]*Step 2 of/);
    const steps = learner.progress["heartbeats"]?.done.length;
    assert.equal(steps, 1);
    assert.match((await learner.type("check")).stdout, /nothing to check/);
    assert.match((await learner.type("hint")).stdout, /no .*hints/);
    const nothing = await learner.type("solution");
    assert.deepEqual([nothing.code, /nothing to solve\nkubelab learn next\n$/.test(nothing.stderr)], [2, true]);
    assert.match((await learner.type("speed 80")).stdout, /80x/);
    assert.equal((await learner.type("speed fast")).code, 2);
    assert.match((await learner.type("status")).stdout, /Step 2 of/);
    assert.match((await learner.type("stop")).stdout, /progress is kept/);
    assert.equal((await learner.type("status")).code, 1);
    const again = await learner.type("start heartbeats");
    assert.match(again.stdout, /Step 2 of/);
  });

  test("after an answer the facts that decided it; the page of the step, for its owner alone", async () => {
    const learner = newLearner();
    await learner.type("start pod-life --speed 10");
    const applied = await learner.type("solution");
    assert.equal(applied.code, 0);
    assert.match(applied.stdout, /✓ kubelab did it: [^$]*what decided it[^$]* → POST [^$]* pods default\/\w+: stored/);
    const written = await learner.type("page", { DISPLAY: "" });
    assert.equal(written.code, 0, written.stderr);
    const path = join(learner.folder, "pod-life-apply.html");
    assert.equal(written.stdout, `The picture of the step: ${pathToFileURL(path).href}\n`);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const page = readFileSync(path, "utf8");
    assert.match(page, /<!doctype html>[\s\S]*pods default\/\w+[\s\S]*<\/html>/);
    // What kubectl sent and got, as the API server saw it.
    assert.match(
      page,
      /"method":"POST","path":"[^"]*\/pods[^\n]*\t[^\n]*requestBody[^\n]*containers[^\n]*responseBody/,
    );
  });

  test("a page that cannot be written is one error, and the lab goes on", async () => {
    const learner = newLearner();
    await learner.type("start pod-life --speed 10");
    await learner.type("solution");
    mkdirSync(join(learner.folder, "pod-life-apply.html"));
    const failed = await learner.type("page");
    assert.equal(failed.code, 2);
    assert.match(failed.stderr, /pod-life-apply\.html/);
    assert.equal((await learner.type("status")).code, 0);
  });

  test("it keeps the language that it was started in", async () => {
    const learner = newLearner();
    assert.match((await learner.type("start heartbeats --lang zh")).stdout, /第 1 步/);
    assert.equal(learner.session.language, "zh");
    assert.match((await learner.type("check", { LANG: "en_GB.UTF-8" })).stdout, /目标：/);
    assert.match((await learner.type("status", { LANG: "C" })).stdout, /第 1 步/);
  });

  test("goes on with the release that it was started with, until another is named or it is reset", async () => {
    const learner = newLearner();
    const release = async () => {
      const { stdout } = await learner.type("shell", { SHELL: resolve("test/support/print-version.sh") });
      return /"gitVersion": "v(\d+\.\d+)/.exec(stdout)?.[1];
    };
    await learner.type("start tour --kube-version 1.30");
    await learner.type("next");
    assert.equal(await release(), "1.30");
    await learner.type("stop");
    const again = await learner.type("start tour");
    assert.match(
      again.stderr,
      /1 of 9 steps are done.*\. The rest of the lab takes about 9 min\.\nIt continues with Kubernetes 1\.30/,
    );
    assert.equal(await release(), "1.30");
    await learner.type("start tour --kube-version 1.32");
    assert.equal(await release(), "1.32");
    await learner.type("reset tour");
    assert.doesNotMatch((await learner.type("start tour")).stderr, /Kubernetes/);
    assert.equal(await release(), "1.25");
  });

  test("--lang of a command decides its language, for this command only", async () => {
    const learner = newLearner();
    await learner.type("start heartbeats --lang en");
    assert.match((await learner.type("status --lang zh")).stdout, /第 1 步/);
    assert.match((await learner.type("check --lang zh")).stdout, /目标：/);
    assert.match((await learner.type("status")).stdout, /Step 1 of/);
  });

  test("killed: the next command reports it; `next` resumes at the same step, with nothing left behind", async () => {
    const learner = newLearner();
    await learner.type("start heartbeats --speed 40 --lang zh");
    assert.equal((await learner.type("next")).code, 0);
    const { pid } = learner.session;
    const foldersOf = () => labFolders().filter((name) => name.startsWith(`kubelab-lab-${pid}-`));
    assert.equal(foldersOf().length, 1);
    process.kill(pid, "SIGKILL");
    for (const line of ["status", "check", "hint"]) {
      const ended = await learner.type(line);
      assert.equal(ended.code, 1, line);
      assert.match(ended.stderr, /实验 heartbeats 意外结束[\s\S]*kubelab learn next/);
    }
    const next = await learner.type("next");
    assert.equal(next.code, 0, next.stderr);
    assert.match(next.stderr, /实验 heartbeats 意外结束，现在从上次的位置继续/);
    assert.match(next.stdout, /第 2 步/);
    assert.deepEqual([learner.session.lab, learner.session.language, learner.session.speed], ["heartbeats", "zh", 40]);
    assert.notEqual(learner.session.pid, pid);
    assert.deepEqual(foldersOf(), []);
    process.kill(learner.session.pid, "SIGKILL");
    const reset = await learner.type("reset heartbeats");
    assert.equal(reset.code, 0, reset.stderr);
    assert.deepEqual(learner.progress, {});
  });

  test("of two that start at once the second finds the first and ends it: no orphan is left", async () => {
    const learner = newLearner();
    const both = await Promise.all([learner.type("start tour --detach"), learner.type("start tour --detach")]);
    for (const { code, stderr } of both) assert.equal(code, 0, stderr);
    assert.equal(both.filter(({ stderr }) => /lab tour was running/.test(stderr)).length, 1);
  });

  test("a second lab ends the first, and reports it; its progress stays", async () => {
    const learner = newLearner();
    await learner.type("start heartbeats");
    const first = learner.session.pid;
    const second = await learner.type("start tokens");
    assert.match(second.stderr, /lab heartbeats was running/);
    assert.equal(learner.session.lab, "tokens");
    assert.notEqual(learner.session.pid, first);
    assert.deepEqual(Object.keys(learner.progress).sort(), ["heartbeats", "tokens"]);
  });

  test("a cluster state that a killed lab left is no hindrance; one that lives is not taken away", async () => {
    const learner = newLearner();
    const clusters = join(learner.home, "state/kubelab/clusters");
    mkdirSync(clusters, { recursive: true });
    const stale = {
      version: 1,
      name: "learn",
      pid: 999_999,
      url: "https://127.0.0.1:1",
      kubeconfig: "/none",
      kubeVersion: "1.25",
      speed: 1,
      nodes: 0,
    };
    writeFileSync(join(clusters, "learn.json"), JSON.stringify(stale));
    assert.equal((await learner.type("start heartbeats")).code, 0);
    const first = JSON.parse(readFileSync(join(clusters, "learn.json"), "utf8")).pid;
    assert.equal(first, learner.session.pid);
    const alone = await learner.type("start wrong-ca-hash --yes --answers none.yaml");
    assert.equal(alone.code, 2);
    assert.equal(JSON.parse(readFileSync(join(clusters, "learn.json"), "utf8")).pid, first);
  });
});

describe("without a terminal, nothing ends silently", () => {
  const table: readonly (readonly [string, string | undefined, number, RegExp])[] = [
    // line, content of answers.yaml, exit code, stderr
    ["start hartbeats", undefined, 2, /no lab named hartbeats; did you mean heartbeats\?[\s\S]*learn list/],
    ["start qqqqqqqqq", undefined, 2, /no lab named qqqqqqqqq\n/],
    ["next", undefined, 1, /no lab is running[\s\S]*kubelab learn start/],
    ["stop", undefined, 1, /no lab is running/],
    ["start heartbeats --answers answers.yaml", "a: b", 2, /--answers is only for runs without questions[\s\S]*--yes/],
    [
      "start heartbeats --yes",
      undefined,
      2,
      /no answer for step [\w-]+, [^\n]*\nAdd a line for each to the --answers file.*\n[\w-]+: [\w-]+ \| /,
    ],
    ["start heartbeats --yes --answers missing.yaml", undefined, 2, /cannot read missing\.yaml/],
    ["start heartbeats --yes --answers answers.yaml", "- a", 2, /not a file of answers/],
    ["start heartbeats --yes --answers answers.yaml", "a: [", 2, /not a file of answers/],
    [
      "start heartbeats --yes --answers answers.yaml",
      "silense: false-by-kubelet",
      2,
      /no step silense .*did you mean silence\?/,
    ],
    [
      "start heartbeats --yes --answers answers.yaml",
      "silence: it-burns",
      2,
      /it-burns is no choice|no answer for step/,
    ],
    ["import missing.json", undefined, 2, /cannot read missing\.json/],
    ["import answers.yaml", "nonsense", 2, /is not a progress file of kubelab learn/],
    ["check-labs missing", undefined, 2, /cannot read missing/],
    ["reset hartbeats", undefined, 2, /did you mean heartbeats\?/],
  ];
  for (const [line, answers, code, message] of table) {
    test(`learn ${line}${answers === undefined ? "" : ` with ${answers}`}: exit ${code}`, async () => {
      const learner = newLearner();
      if (answers !== undefined) writeFileSync(join(learner.home, "answers.yaml"), answers);
      const ended = await learner.type(line);
      assert.equal(ended.code, code, ended.stderr);
      assert.match(ended.stderr, message);
    });
  }

  test("a terminal in a lab's folder that is gone: commands go on all the same", () => {
    const script = 'cd "$(mktemp -d)" && rmdir "$PWD" && exec "$0" "$1" learn next';
    const learner = newLearner();
    const ended = spawnSync("sh", ["-c", script, process.execPath, resolve("dist/cli.js")], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], HOME: learner.home, XDG_STATE_HOME: join(learner.home, "state") },
    });
    assert.match(ended.stderr, /no lab is running/);
    assert.equal(ended.status, 1);
  });

  test("the menu needs a terminal, and names an alternative", async () => {
    const learner = newLearner();
    const ended = await new CliProcess(learner.home, ["learn"]).ended;
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /no terminal for questions[\s\S]*learn list, start ID, check/);
  });

  test("a broken progress file is kept aside, and a warning is printed", async () => {
    const learner = newLearner();
    mkdirSync(learner.folder, { recursive: true });
    writeFileSync(join(learner.folder, "progress.json"), "{");
    const ended = await learner.type("list");
    assert.equal(ended.code, 0);
    assert.match(ended.stderr, /is not readable; it is kept as .*progress\.json\.broken-\d+/);
  });

  test("a state folder that cannot be created, and a missing program: one line with a hint", async () => {
    const learner = newLearner();
    writeFileSync(join(learner.home, "file"), "");
    const unmade = await learner.type("start csr", { XDG_STATE_HOME: join(learner.home, "file") });
    assert.deepEqual([unmade.code, unmade.stderr.split("\n").length], [2, 3]);
    assert.match(unmade.stderr, /^error: cannot write .*a part of the path is a file.*\n.*XDG_STATE_HOME/);
    const missing = await learner.type("start csr", { PATH: learner.home });
    assert.equal(missing.code, 1);
    assert.match(
      missing.stderr,
      /error: csr did not start: this lab needs openssl, which is not installed[^\n]*\nList the labs/,
    );
  });

  test("a progress file of a newer version is left alone", async () => {
    const learner = newLearner();
    mkdirSync(learner.folder, { recursive: true });
    writeFileSync(join(learner.folder, "progress.json"), '{"version":9,"labs":{}}');
    const ended = await learner.type("list");
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /written by a newer kubelab/);
    assert.equal(readFileSync(join(learner.folder, "progress.json"), "utf8"), '{"version":9,"labs":{}}');
  });

  test("progress moves from one machine to another", async () => {
    const [here, there] = [newLearner(), newLearner()];
    mkdirSync(here.folder, { recursive: true });
    const lab = {
      revision: 1,
      seed: 1,
      done: ["join"],
      hints: 0,
      rightPredictions: 0,
      wrongPredictions: 0,
      startedAtMs: 1,
    };
    writeFileSync(join(here.folder, "progress.json"), JSON.stringify({ version: 1, labs: { heartbeats: lab } }));
    const file = join(here.home, "mine.json");
    assert.equal((await here.type(`export ${file}`)).code, 0);
    assert.equal((await there.type(`import ${file}`)).code, 0);
    assert.deepEqual(there.progress["heartbeats"]?.done, ["join"]);
  });
});

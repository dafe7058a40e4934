import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import { allTasks } from "../../../src/lab/build/library.js";
import { playLive } from "../../../src/lab/build/live.js";
import { SystemClock } from "../../../src/util/clock.js";
import { CLI, newHome, runCliProcess } from "../../support/cli-process.js";

const home = newHome();
const path = join(home, "mine.mjs");
const solutionOf = (task: string) =>
  `// kubelab build: ${task}\n${readFileSync(`test/lab/build/solutions/${task}.mjs`, "utf8")}`;

/** A mistake in the solution of each task, which the tests of its stages find too, and what the node then does. */
const MISTAKES: Readonly<Record<string, readonly [from: string, to: string, sentence: RegExp]>> = {
  "renew-interval": ["0.25", "1.25", /node\/node-1=(?:NotReady|Unknown)/],
  "generate-events": ['[event("ContainerDied")]', "[]", /pod\/job=Succeeded/],
  phase: ["Succeeded", "Failed", /pod\/job=Succeeded/],
  "bootstrap-token": ["groups.length > 0", "false", /certificatesigningrequests was refused: 403/],
  "crash-loop-back-off": ["entry.waitMs * 2", "entry.waitMs", /back-off 20s/],
  "get-newer-than": ["this.#release((one) => one.minTimeMs <= timeMs)", "", /pod\/job=Succeeded/],
  "exec-url": ['query.append("command", word)', 'query.set("command", word)', /exec sh -c/],
  csr: ['"client auth"', '"server auth"', /is for the usages|was not approved|refused|failed/],
  "merge-sources": ['add(deletionTimestamp === undefined ? "UPDATE" : "DELETE", uid)', "void 0", /pod\/web=Deleted/],
  "mirror-pod": ["[MIRROR]: metadata.annotations[HASH]", "", /pod\/static-node-1=Running/],
  "eviction-ranking": ["a.priority - b.priority", "b.priority - a.priority", /pod\/(?:mild|bold)=Evicted/],
  "lease-over-time": ["FRACTION = 0.25", "FRACTION = 1.25", /node\/node-1=Unknown/],
  "lease-loop": ["...lease.spec, renewTime", "renewTime, ...lease.spec", /node\/node-1=Unknown/],
};

test("each task with a live run has a mistake here", async () => {
  const live = (await allTasks()).filter((one) => one.live !== undefined).map(({ id }) => id);
  assert.deepEqual(Object.keys(MISTAKES).sort(), live.sort());
});

describe.each(Object.keys(MISTAKES))("the live run of %s", (task) => {
  const [from, to, sentence] = MISTAKES[task] ?? ["", "", /no mistake is known/];
  const play = (file: string, text: string) => {
    writeFileSync(join(home, file), text);
    const command = [CLI, "build", "live", task];
    return playLive({ clock: new SystemClock(), signal: new AbortController().signal }, command, join(home, file));
  };

  test("the solution holds what the scenario expects", async () => {
    const { judgements = [], failed } = await play(`${task}.mjs`, solutionOf(task));
    assert.equal(failed, undefined);
    assert.ok(judgements.length > 0);
    assert.deepEqual(
      judgements.filter(({ holds }) => !holds),
      [],
    );
  });

  test("a mistake shows in the node", async () => {
    assert.ok(solutionOf(task).includes(from));
    const run = await play(
      `${task}-wrong.mjs`,
      solutionOf(task).replace(from, () => to),
    );
    const wrong = (run.judgements ?? []).filter(({ holds }) => !holds).map(({ condition }) => condition);
    assert.match([run.failed ?? "", ...wrong].join("\n"), sentence);
  });
});

describe("a node with the learner's part in it", () => {
  test.each(["generate-events", "lease-loop", "exec-url"])("%s: it runs as with kubelab's own part", async (task) => {
    writeFileSync(path, solutionOf(task));
    const { code, stdout } = await runCliProcess(home, "build", "check", path);
    assert.match(stdout, /✓ kubelab's node with your part in it/);
    assert.doesNotMatch(stdout, /✗|Only with/);
    assert.equal(code, 0);
  });

  test("what only the run shows is named, beside what kubelab's own part did", async () => {
    // The tests' pods have short names.
    const text = solutionOf("generate-events").replace(
      '[event("ContainerDied")]',
      "$&.filter(() => ref.podUid.length < 9)",
    );
    writeFileSync(path, text);
    const { code, stdout } = await runCliProcess(home, "build", "check", path);
    assert.match(stdout, /✗ pod\/job=Succeeded \(within 12 s\)/);
    assert.match(stdout, /Only with kubelab's own part:\n.*ContainerDied default\/again main/);
    assert.equal(code, 1);
    const { code: withoutNode } = await runCliProcess(home, "build", "check", path, "--no-live");
    assert.equal(withoutNode, 0);
  });

  test("an endless loop in the node ends in a sentence", async () => {
    writeFileSync(
      path,
      solutionOf("phase").replace("const inits", "while (statuses[0]?.containerID) {}\n  const inits"),
    );
    const { code, stdout } = await runCliProcess(home, "build", "check", path);
    assert.match(stdout, /did not get to the end:\n {2}nothing happened any more/);
    assert.equal(code, 1);
  });
});

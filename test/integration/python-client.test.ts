import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { CliProcess, newHome } from "../support/cli-process.js";
import { PYTHON, suiteNeeding } from "../support/requirements.js";
import { runProgram } from "../support/stream-kubectl.js";

const SCRIPT = resolve("test/support/python-streams.py");
/** of one case, which a client that misses the end of its stream would never reach */
const LIMIT_MS = 60_000;

const pod = (name: string, container: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "c", ...container }] },
});
const shell = (script: string) => ({ image: "busybox", command: ["sh", "-c", script] });
const PODS = [
  pod("nettool", { image: "nettool" }),
  pod("nginx", { image: "nginx" }),
  pod("reads", { ...shell("while read line; do echo got:$line; done; sleep 1000"), stdin: true }),
  pod("lines", shell("for i in 1 2 3 4 5; do echo l$i; done; sleep 1000")),
];

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

const CASES: readonly (readonly [name: string, wanted: unknown])[] = [
  ["exec_output", [...numbers(200).map((i) => `line ${i + 1}\n`), "err\n"].join("")],
  ["exec_lines", { answers: numbers(20).map((i) => [`out ${i}`, `err ${i}`]), code: 3 }],
  ["copy", [0, 0, true]],
  ["attach", numbers(10).map((i) => `got:word ${i}`)],
  ["forward", numbers(6).map(() => ["HTTP/1.1 200 OK", 20_000, true])],
  ["forward_refused", ["", true]],
  ["follow", ["l1", "l2", "l3", "l4", "l5"]],
  ["watched", ["began", "ADDED python-1", "DELETED python-1"]],
];

suiteNeeding(["python3-kubernetes"], "streams of the embedded cluster, by Python's package kubernetes", () => {
  for (const release of ["1.25", "1.34"]) {
    describe(`of release ${release}`, () => {
      const home = newHome();
      const kubeconfig = join(home, "state", "kubelab", "clusters", "kubelab.kubeconfig");
      let cluster: CliProcess;

      beforeAll(async () => {
        cluster = new CliProcess(home, ["cluster", "up", "--nodes", "1", "--kube-version", release]);
        await cluster.printed(/^kubectl/m);
        const { code, stderr } = await runProgram([PYTHON, SCRIPT, "create"], kubeconfig, {
          input: JSON.stringify(PODS),
        });
        assert.equal(code, 0, stderr);
      });
      afterAll(async () => {
        await cluster.kill("SIGINT");
        rmSync(home, { recursive: true, force: true });
      });

      for (const [name, wanted] of CASES) {
        test(
          name.replaceAll("_", " "),
          async () => {
            const { code, stdout, stderr } = await runProgram([PYTHON, SCRIPT, name], kubeconfig);
            assert.equal(code, 0, stderr);
            assert.deepEqual(JSON.parse(stdout), wanted);
          },
          LIMIT_MS,
        );
      }
    });
  }
});

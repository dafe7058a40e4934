import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { CliProcess, newHome } from "../support/cli-process.js";
import { runOnTerminal } from "../support/pty.js";
import { suiteNeeding } from "../support/requirements.js";
import { kubectlPrograms, type ProgramOptions, runProgram } from "../support/stream-kubectl.js";

const ECHOES = "while read line; do echo got:$line; done; sleep 1000";
const CRASHES_WHEN_TOLD = "trap 'exit 3' TERM; echo a run; while true; do sleep 0.1; done";
const PODS = [
  pod("nettool", [{ name: "nettool", image: "nettool" }]),
  pod("nginx", [
    { name: "nginx", image: "nginx" },
    { name: "side", image: "busybox", command: ["sh", "-c", "echo from the side; sleep 1000"] },
  ]),
  pod("crash", [{ name: "c", image: "busybox", command: ["sh", "-c", CRASHES_WHEN_TOLD] }]),
  pod("reads", [{ name: "c", image: "busybox", command: ["sh", "-c", ECHOES], stdin: true }]),
  pod("lines", [
    { name: "c", image: "busybox", command: ["sh", "-c", "for i in 1 2 3 4 5; do echo l$i; done; sleep 1000"] },
  ]),
  pod("nowhere", [{ name: "c", image: "busybox" }], { nodeSelector: { no: "such" } }),
];

function pod(name: string, containers: readonly object[], spec: object = {}) {
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers, ...spec } };
}

/** A kubectl, the arguments, the expected exit code, and parts of stdout and stderr. */
type Row = readonly [
  title: string,
  argv: readonly string[],
  code: number,
  stdout: RegExp,
  stderr: RegExp,
  input?: string,
];

const ROWS: readonly Row[] = [
  ["exec", ["exec", "nettool", "--", "ls", "/"], 0, /^bin\ndev\n/, /^$/],
  [
    "exec passes exit codes on",
    ["exec", "nettool", "--", "sh", "-c", "echo e >&2; exit 7"],
    7,
    /^$/,
    /^e\ncommand terminated with exit code 7\n$/,
  ],
  ["exec -i", ["exec", "-i", "nettool", "--", "cat"], 0, /^typed\n$/, /^$/, "typed\n"],
  ["exec without -i has no stdin", ["exec", "nettool", "--", "cat"], 0, /^$/, /^$/, "typed\n"],
  [
    "a command that is missing",
    ["exec", "nettool", "--", "nosuch"],
    1,
    /^$/,
    /exec: "nosuch": executable file not found in \$PATH/,
  ],
  [
    "a command that a shell misses",
    ["exec", "nettool", "--", "sh", "-c", "nosuch"],
    127,
    /^$/,
    /command terminated with exit code 127/,
  ],
  [
    "an unknown container",
    ["exec", "nettool", "-c", "no", "--", "ls"],
    1,
    /^$/,
    /container no is not valid for pod nettool/,
  ],
  ["an unknown pod", ["exec", "no", "--", "ls"], 1, /^$/, /pods "no" not found/],
  ["a pod that is on no node", ["exec", "nowhere", "--", "ls"], 1, /^$/, /pod nowhere does not have a host assigned/],
  ["logs", ["logs", "lines"], 0, /^l1\nl2\nl3\nl4\nl5\n$/, /^$/],
  ["logs --tail", ["logs", "lines", "--tail=2"], 0, /^l4\nl5\n$/, /^$/],
  ["logs --since", ["logs", "lines", "--since=1h", "--timestamps"], 0, /^\d{4}-\d\d-\d\dT\S+ l1\n/, /^$/],
  ["logs --limit-bytes", ["logs", "lines", "--limit-bytes=4"], 0, /^l1\nl$/, /^$/],
  ["logs -c", ["logs", "nginx", "-c", "side"], 0, /^from the side\n$/, /^$/],
  ["logs --previous", ["logs", "crash", "--previous"], 0, /^a run\n$/, /^$/],
  ["logs of an unknown container", ["logs", "nginx", "-c", "no"], 1, /^$/, /container no is not valid for pod nginx/],
];

suiteNeeding(["kubectl", "python3"], "streams of the embedded cluster, by kubectl", () => {
  for (const release of ["1.25", "1.32"]) describe(`of release ${release}`, () => releaseSuite(release));
});

function releaseSuite(release: string): void {
  const home = newHome();
  const kubeconfig = join(home, "state", "kubelab", "clusters", "kubelab.kubeconfig");
  let cluster: CliProcess;
  const kubectl = (...argv: string[]) => runProgram(["kubectl", ...argv], kubeconfig);

  beforeAll(async () => {
    cluster = new CliProcess(home, ["cluster", "up", "--nodes", "1", "--kube-version", release]);
    await cluster.printed(/^kubectl/m);
    const file = join(home, "pods.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: PODS }));
    assert.equal((await kubectl("create", "-f", file)).stderr, "");
    const running = ["pod/crash", "pod/nettool", "pod/nginx", "pod/reads", "pod/lines"];
    const waited = await kubectl("wait", "--for=condition=Ready", ...running, "--timeout=40s");
    assert.equal(waited.code, 0, waited.stderr);
    assert.equal((await kubectl("exec", "crash", "--", "kill", "1")).stderr, "");
    const restarted = "--for=jsonpath={.status.containerStatuses[0].restartCount}=1";
    assert.equal((await kubectl("wait", restarted, "pod/crash", "--timeout=40s")).code, 0);
  }, 120_000);
  afterAll(async () => {
    await cluster.kill("SIGINT");
    rmSync(home, { recursive: true, force: true });
  });

  for (const { path, version } of kubectlPrograms()) {
    describe(`kubectl ${version}`, () => {
      const run = (argv: readonly string[], options?: ProgramOptions) =>
        runProgram([path, ...argv], kubeconfig, options);

      for (const [title, argv, code, stdout, stderr, input] of ROWS) {
        test(title, async () => {
          const ended = await run(argv, input === undefined ? {} : { input });
          assert.match(ended.stderr, stderr);
          assert.match(ended.stdout, stdout);
          assert.equal(ended.code, code);
        });
      }

      test("exec -t: a shell on a terminal, which is given back", async () => {
        const argv = [path, "exec", "-it", "nettool", "--", "sh"];
        const { output, code, restored } = await runOnTerminal(argv, kubeconfig, [
          ["#", "stty size\r"],
          ["24 80", "cat\r"],
          ["cat", "word\r"],
          ["word\r\nword", "\x03"],
          ["#", "exit 5\r"],
        ]);
        assert.match(output, /24 80\r\n/);
        assert.equal(code, 5, output);
        assert.equal(restored, true);
      });

      test("attach -i: input reaches the container, output comes back", async () => {
        const { stdout } = await run(["attach", "-i", "reads"], {
          input: "hello\n",
          // The end of stdin would end the attach, but the container's stdin stays open for other clients.
          keepsStdin: true,
          until: (text) => text.includes("got:hello"),
        });
        assert.match(stdout, /got:hello/);
      });

      test("logs -f: continues until it is interrupted", async () => {
        const { stdout } = await run(["logs", "-f", "lines"], { until: (text) => text.includes("l5") });
        assert.equal(stdout, "l1\nl2\nl3\nl4\nl5\n");
      });

      test("port-forward: nginx answers", async () => {
        let port = "";
        let answered: Promise<string> | undefined;
        let page = "";
        await run(["port-forward", "pod/nginx", ":80"], {
          until: (text) => {
            port = /127\.0\.0\.1:(\d+) ->/.exec(text)?.[1] ?? "";
            if (port !== "" && answered === undefined) {
              answered = fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } }).then((answer) =>
                answer.text(),
              );
              void answered.then((body) => {
                page = body;
                // Its next word is about this one.
                void fetch(`http://127.0.0.1:${port}/again`).catch(() => {});
              });
            }
            return page !== "";
          },
        });
        assert.match(await (answered ?? ""), /Welcome to nginx!/);
      });

      test("cp: a binary file there and back", async () => {
        const sent = randomBytes(300_000);
        writeFileSync(join(home, "sent.bin"), sent);
        const there = await run(["cp", join(home, "sent.bin"), `nettool:/tmp/${version}.bin`]);
        assert.equal(there.code, 0, there.stderr);
        const back = await run(["cp", `nettool:/tmp/${version}.bin`, join(home, `back-${version}.bin`)]);
        assert.equal(back.code, 0, back.stderr);
        const hash = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
        assert.equal(hash(readFileSync(join(home, `back-${version}.bin`))), hash(sent));
      });

      test("run -i --rm: a pod for one command", async () => {
        const name = `once-${version.replace(".", "-")}`;
        const argv = ["run", name, "--image=busybox", "--restart=Never", "--rm", "-i", "--", "sh", "-c"];
        const { code, stdout, stderr } = await run([...argv, "read line; echo read:$line; exit 4"], {
          input: "word\n",
        });
        assert.match(stdout, /read:word/, stderr);
        assert.match(stdout, new RegExp(`pod "${name}" deleted`));
        assert.equal(code, 4, stderr);
      });
    });
  }
}

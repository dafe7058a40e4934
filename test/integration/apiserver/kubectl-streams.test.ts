import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { startControlPlane } from "../../../src/cluster/control-plane/start.js";
import { internalErrorStatus, SUCCESS } from "../../../src/staging/streaming/remote-command/status-text.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { FakeKubelet } from "../../support/fake-kubelet.js";
import { Kubectl, type KubectlOptions } from "../../support/kubectl.js";
import { podManifest } from "../../support/kubectl-cluster.js";
import { exited, type Play, playing } from "../../support/playing-kubelet.js";
import { suiteNeeding } from "../../support/requirements.js";

/** `cat` echoes stdin, `exit N` exits with N, `nope` is an error of the runtime, anything else prints its own name. */
const shell: Play = async (session, argv) => {
  const [name, argument = ""] = argv;
  if (name === "cat") {
    for await (const bytes of session.stdin ?? []) await session.stdout?.write(bytes);
    return SUCCESS;
  }
  if (name === "nope") return internalErrorStatus("error executing command in container: no such file");
  await session.stdout?.write(Buffer.from(`ran ${argv.join(" ")}\n`));
  await session.stderr?.write(Buffer.from("warned\n"));
  return name === "exit" ? exited(Number(argument)) : SUCCESS;
};

async function openCluster(kubeVersion: string) {
  const kubelet = await FakeKubelet.start(playing({ exec: shell, attach: shell, log: "one\ntwo\n" }));
  const deps = { clock: new SystemClock(), random: new SystemRandom() };
  const trace = new Trace(deps.clock);
  const controlPlane = await startControlPlane({ ...deps, trace, kubeVersion, withoutControllers: ["*"] });
  const kubectl = new Kubectl(controlPlane.admin);
  await kubectl.run("create", "serviceaccount", "default");
  const conditions = [{ type: "Ready", status: "True" }];
  const node = { ...kubelet.node("n"), status: { ...kubelet.nodeStatus, conditions } };
  await kubectl.run("create", "-f", kubectl.file("node.json", node));
  await kubectl.run("create", "-f", kubectl.file("pod.json", podManifest("p", { nodeName: "n" })));
  const status = JSON.stringify({ status: { phase: "Running", conditions } });
  const path = "/api/v1/namespaces/default/pods/p/status";
  const { createClient } = await import("../../../src/staging/client-go/rest/create-client.js");
  const client = createClient(controlPlane.admin, { ...deps, trace, actor: "user" });
  const contentType = "application/merge-patch+json";
  await client.expect({ method: "PATCH", path, body: JSON.parse(status), contentType });
  await client.close();
  return {
    kubelet,
    kubectl,
    async [Symbol.asyncDispose]() {
      await controlPlane.close();
      await kubelet.close();
    },
  };
}

const commands: readonly [argv: string[], code: number, stdout: string, stderr: RegExp, options?: KubectlOptions][] = [
  [["exec", "p", "--", "echo", "hi"], 0, "ran echo hi\n", /warned/],
  [["exec", "p", "-i", "--", "cat"], 0, "from a pipe", /^/, { input: "from a pipe" }],
  [["exec", "p", "--", "exit", "7"], 7, "ran exit 7\n", /exit code 7/],
  [["exec", "p", "--", "nope"], 1, "", /Internal error occurred: .*no such file/],
  [["exec", "p", "-c", "zz", "--", "ls"], 1, "", /container zz is not valid for pod p|container zz not found in pod p/],
  [["logs", "p"], 0, "one\ntwo\n", /^/],
  [["logs", "-f", "p"], 0, "one\ntwo\n", /^/],
  [["attach", "p"], 0, "ran \n", /warned/],
  [["get", "--raw", "/api/v1/nodes/n/proxy/containerLogs/default/p/c"], 0, "one\ntwo\n", /^/],
];

suiteNeeding(["kubectl"], "kubectl's streams through the API server", () => {
  for (const kubeVersion of ["1.25", "1.34"]) {
    describe(`at ${kubeVersion}`, () => {
      test("exec, attach and logs", async () => {
        await using cluster = await openCluster(kubeVersion);
        for (const [argv, code, stdout, stderr, options] of commands) {
          const run = await cluster.kubectl.try(argv, options);
          assert.deepEqual([argv.join(" "), run.code, run.stdout], [argv.join(" "), code, stdout], run.stderr);
          assert.match(run.stderr, stderr);
        }
      });

      test("port-forward carries a connection", async () => {
        await using cluster = await openCluster(kubeVersion);
        const stop = new AbortController();
        let answer = "";
        await cluster.kubectl.try(["port-forward", "pod/p", ":8080"], {
          signal: stop.signal,
          onOutput: (text) => {
            const port = /127\.0\.0\.1:(\d+) -> 8080/.exec(text)?.[1];
            if (port === undefined || answer !== "") return;
            answer = "asked";
            void ask(Number(port)).then((said) => {
              answer = said;
              stop.abort();
            });
          },
        });
        assert.equal(answer, "ping");
      });
    });
  }
});

/** Sends `ping` and returns the answer. */
async function ask(port: number): Promise<string> {
  const { connect } = await import("node:net");
  const socket = connect(port, "127.0.0.1");
  socket.end("ping");
  let said = "";
  for await (const bytes of socket) said += String(bytes);
  return said;
}

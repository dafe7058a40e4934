import assert from "node:assert/strict";
import { afterAll, beforeAll, test } from "vitest";
import { startContainerd, type TestContainerd } from "../support/containerd.js";
import { ContainerdPod, SLEEPS } from "../support/containerd-pod.js";
import { missingPath } from "../support/missing-path.js";
import { suiteNeeding } from "../support/requirements.js";
import { runInProcess } from "../support/run-cli.js";

suiteNeeding(["containerd", "busybox-static", "root"], "kubelab exec --cri before a real containerd", () => {
  let containerd: TestContainerd;
  let pod: ContainerdPod;
  beforeAll(async () => {
    containerd = await startContainerd();
    pod = new ContainerdPod(containerd, "chain");
    await pod.runSandbox();
    for (const name of ["main", "other"]) {
      await pod.create(name, SLEEPS);
      await pod.start(name);
    }
  }, 60_000);
  afterAll(() => containerd?.stop());

  const exec = (argv: readonly string[], stdin?: Buffer) =>
    runInProcess(["exec", "--cri", containerd.endpoint, ...argv], stdin === undefined ? {} : { stdin });

  for (const protocol of ["spdy", "v4"]) {
    test(`over ${protocol}: the listing, and every hop`, async () => {
      const { code, stdout, stderr } = await exec(["main", "--protocol", protocol, "--", "ls", "/bin/busybox"]);
      assert.equal(stdout, "/bin/busybox\n", stderr);
      assert.equal(code, 0);
      const text = stderr.replace(/\s+/g, " ");
      for (const hop of [
        /is kubernetes-admin client certificate/,
        /ask the kubelet: (GET|POST) https:\/\/127\.0\.0\.1:\d+\/exec\/default\/chain\/main/,
        /kube-apiserver-kubelet-client \(by client certificate/,
        /RuntimeService\/Exec → OK|RuntimeService\/Exec -> OK/,
        /connect the streams to http:\/\/127\.0\.0\.1:\d+\/exec\/..\*\*\*\*/,
        protocol === "spdy"
          ? /upgraded to SPDY\/3\.1, v4\.channel\.k8s\.io/
          : /upgraded to websocket, v4\.channel\.k8s\.io/,
        /ended, exit code 0; bytes: stdout 13, stderr 0/,
      ]) {
        assert.match(text, hop);
      }
    });
  }

  test("by the beginning of its ID; its exit code is ours", async () => {
    const { code, stderr } = await exec([pod.idOf("other").slice(0, 12), "--", "sh", "-c", "exit 42"]);
    assert.equal(code, 42, stderr);
  });

  test("stdin is closed after the piped input", async () => {
    const { stdout, code, stderr } = await exec(
      ["main", "-i", "--", "/bin/busybox", "wc", "-c"],
      Buffer.alloc(100_000, 1),
    );
    assert.equal(stdout.trim(), "100000", stderr);
    assert.equal(code, 0);
  });

  test("a command that is missing ends as in a shell, with the runtime's words", async () => {
    const { code, stderr } = await exec(["main", "--", "nosuch"]);
    assert.match(stderr.replace(/\s+/g, " "), /exec: "nosuch": executable file not found in \$PATH/);
    assert.equal(code, 127);
  });

  test("a command that cannot run there is a usage error that lists those that can", async () => {
    const { code, stdout, stderr } = await exec(["nosuch", "--", "ls"]);
    assert.match(
      stderr,
      /error: no running container at unix:\S+ has the name or ID "nosuch"\nRunning: .*main of default\/chain/,
    );
    assert.equal(stdout, "");
    assert.equal(code, 2);
  });

  test("nothing listens at the endpoint", async () => {
    const { code } = await runInProcess(["exec", "--cri", `unix://${missingPath("x.sock")}`, "main", "--", "ls"]);
    assert.equal(code, 3);
  });
});

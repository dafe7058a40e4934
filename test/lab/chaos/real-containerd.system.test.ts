import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCliProcess } from "../../support/cli-process.js";
import { BUSYBOX_IMAGE, startContainerd, type TestContainerd } from "../../support/containerd.js";
import { suiteNeeding } from "../../support/requirements.js";

const home = mkdtempSync(join(tmpdir(), "kubelab-test-"));

function scenario(name: string, faults: readonly object[], expected: readonly object[]): string {
  const main = { name: "main", image: BUSYBOX_IMAGE, command: ["sleep", "1000"] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" } };
  const spec = {
    hostNetwork: true,
    terminationGracePeriodSeconds: 1,
    tolerations: [{ operator: "Exists" }],
    containers: [main],
  };
  const file = join(home, `${name}.yaml`);
  writeFileSync(file, JSON.stringify({ title: name, objects: [{ ...pod, spec }], do: faults, expect: expected }));
  return file;
}

const RUNNING = { condition: "pod/web=Running", within: "60s" };

const SCENARIOS: readonly (readonly [string, readonly object[], readonly object[]])[] = [
  [
    "CreateContainer fails twice, and is tried again",
    [
      {
        when: { at: "0s" },
        fault: "runtime-fault",
        with: { rpc: "CreateContainer", code: "Unknown", message: "no space left on device", count: 2 },
      },
    ],
    [
      { condition: "fact=chaos meets CreateContainer on its way to unix:///", within: "30s" },
      { condition: "fact=no space left on device", within: "30s" },
      { condition: "event=Failed", within: "30s" },
      RUNNING,
    ],
  ],
  [
    "a container is killed behind the kubelet's back",
    [{ when: "pod/web=Running", fault: "kill-container", with: { pod: "web" } }],
    [RUNNING, { condition: "fact=ContainerDied", within: "60s" }],
  ],
  [
    "the runtime's process ends and comes back: the container lives on",
    [{ when: "pod/web=Running", fault: "runtime-stop", for: "40s" }],
    [
      RUNNING,
      { condition: "fact=container runtime is down", within: "60s" },
      { condition: "fact=ContainerDied", within: "55s", never: true },
    ],
  ],
  [
    "the sandbox ends behind the kubelet's back, and is made again",
    [{ when: "pod/web=Running", fault: "sandbox-not-ready", with: { pod: "web" } }],
    [RUNNING, { condition: "event=SandboxChanged", within: "60s" }],
  ],
  [
    "lists are stale: the relist finds the dead container when they are right again",
    [
      { when: "pod/web=Running", fault: "runtime-fault", with: { rpc: "ListContainers", answer: "stale" }, for: "12s" },
      { when: { at: "10s" }, fault: "kill-container", with: { pod: "web" } },
    ],
    [
      RUNNING,
      { condition: "fact=ContainerDied", within: "12s", never: true },
      { condition: "fact=ContainerDied", from: "12s", within: "30s" },
    ],
  ],
];

suiteNeeding(["containerd", "runc", "ctr"], "scenarios on a real containerd, in real time", () => {
  let containerd: TestContainerd;
  beforeAll(async () => {
    containerd = await startContainerd();
  }, 120_000);
  afterAll(() => containerd.stop(), 60_000);

  test("refused before anything starts: what only embedded parts can do, and a run without consent", async () => {
    const run = (file: string, ...flags: string[]) =>
      runCliProcess(home, "chaos", "run", file, "--cri", containerd.endpoint, ...flags);
    const full = scenario("full", [{ when: { at: "0s" }, fault: "disk-full", with: { pod: "web" } }], [RUNNING]);
    expect(await run(full, "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("disk-full") });
    expect(await run(scenario("calm", [], [RUNNING]))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--yes"),
    });
  });

  test.each(SCENARIOS)("%s", { timeout: 180_000 }, async (name, faults, expected) => {
    const file = scenario(name.replaceAll(/\W+/g, "-"), faults, expected);
    const run = await runCliProcess(home, "chaos", "run", file, "--cri", containerd.endpoint, "--yes", "--json");
    const { judgements = [], cri } = JSON.parse(run.stdout || "{}");
    expect(
      judgements.filter((one: { holds: boolean }) => !one.holds),
      run.stderr,
    ).toEqual([]);
    expect([run.code, cri], run.stderr).toEqual([0, containerd.endpoint]);
    const left = await containerd.client.runtime.listPodSandbox(undefined, new AbortController().signal);
    expect(left).toMatchObject({ outcome: "ok", value: [] });
  });
});

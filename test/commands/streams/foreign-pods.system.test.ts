import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningRuntime, startRuntime } from "../../../src/cluster/runtime/start.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { type CliRun, runInProcess } from "../../support/run-cli.js";
import { recordingTrace } from "../../support/trace.js";

const clock = new SystemClock();
let runtime: RunningRuntime;
/** The exited container. */
let crashed = "";

/** Pods as a runtime has them that kubelab did not start: some of them are none that an API server takes. */
beforeAll(async () => {
  runtime = await startRuntime({ clock, random: new SystemRandom(), trace: recordingTrace(clock).trace });
  const { control } = runtime;
  const pod = (name: string, uid: string, ...containers: string[]) =>
    control.runPod({
      name,
      namespace: "default",
      uid,
      containers: containers.map((container) => ({
        name: container,
        image: "nettool",
        ...(container === "waits" ? { state: "created" as const } : {}),
      })),
    });
  pod("good", "u1", "main");
  pod("pulling", "u2");
  crashed = pod("crashing", "u3", "crash").containerIds[0] ?? "";
  await control.killContainer(crashed);
  pod("created", "u4", "waits");
  pod("half", "u5", "runs", "waits");
  pod("twice", "u6", "first");
  pod("twice", "u7", "second");
});
afterAll(() => runtime.close());

const exec = (container: string) =>
  runInProcess(["exec", "--cri", runtime.endpoint, container, "-v", "1", "--", "echo", "here"]);

for (const container of ["main", "runs"]) {
  test(`exec --cri finds ${container} among pods without a running container`, async () => {
    const { code, stdout, stderr } = await exec(container);
    expect([code, stdout]).toEqual([0, "here\n"]);
    expect(stderr).toMatch(/default\/pulling is left out: it has no\s+container/);
  });
}

for (const container of ["crash", "waits"]) {
  test(`exec --cri of ${container}, which does not run, names those that do`, async () => {
    const { code, stderr } = await exec(container);
    expect([code, stderr.replace(/\s+/g, " ")]).toEqual([
      2,
      expect.stringMatching(/no running container at .* Running: .*main of default\/good.*runs of default\/half/),
    ]);
    expect(stderr).not.toMatch(/(crash|waits) of/);
    expect(stderr).toContain("default/twice is left out: ");
  });
}

test("exec serve --cri has every pod with a container; one that runs again can be entered", async () => {
  const stop = new AbortController();
  const argv = ["exec", "serve", "--cri", runtime.endpoint, "--apiserver-port", "0", "--kubelet-port", "0", "--json"];
  let notes = "";
  let serving: Promise<CliRun> | undefined;
  const { kubeconfig, pods } = await new Promise<{ kubeconfig: string; pods: string[] }>((resolve, reject) => {
    const onStdout = (text: string) => text.includes("}") && resolve(JSON.parse(text));
    const onStderr = (text: string) => {
      notes = text;
    };
    serving = runInProcess(argv, { signal: stop.signal, onStdout, onStderr });
    serving.then(({ stderr }) => reject(new Error(stderr)), reject);
  });
  expect(pods.toSorted()).toEqual(["crashing", "created", "good", "half", "twice"].map((name) => `default/${name}`));
  expect(notes).toMatch(/default\/pulling is left out: it has no\s+container/);
  expect(notes.replace(/\s+/g, " ")).toMatch(/default\/twice is left out: POST .* 409 pods "twice" already exists/);
  const enter = () => runInProcess(["exec", "crashing", "--kubeconfig", kubeconfig, "--", "echo", "again"]);
  expect((await enter()).stderr).toMatch(/container not found/);
  runtime.control.runAgain(crashed);
  expect((await enter()).stdout).toBe("again\n");
  stop.abort();
  await serving;
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningRuntime, startRuntime } from "../../../src/cluster/runtime/start.js";
import { parseHttpAddress } from "../../../src/commands/inspector/options.js";
import { parseRelistPeriod } from "../../../src/commands/pleg/plan.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { missingPath } from "../../support/missing-path.js";
import { runInProcess } from "../../support/run-cli.js";

const MISSING = `unix://${missingPath("x.sock")}`;

let runtime: RunningRuntime;
beforeAll(async () => {
  const clock = new SystemClock();
  runtime = await startRuntime({ clock, random: new SystemRandom(), trace: new Trace(clock) });
});
afterAll(() => runtime.close());

/** Undoes the line breaks at 80 columns, which are not under test here. */
const flat = (text: string) => text.replace(/\s+/g, " ");

/** Runs the command and presses Ctrl-C once stderr has this. */
async function runUntil(seen: string, args: readonly string[]) {
  const stop = new AbortController();
  const onStderr = (text: string) => {
    if (flat(text).includes(seen)) stop.abort();
  };
  const run = await runInProcess(["pleg", ...args], { signal: stop.signal, onStderr });
  return { ...run, stderr: flat(run.stderr) };
}

describe("kubelab pleg", () => {
  test("--mock reports what the two pods do; Ctrl-C prints a summary on stdout and ends with 130", async () => {
    const { code, stdout, stderr } = await runUntil("nothing changed among 2 pods", [
      "--mock",
      "-v",
      "3",
      "--speed",
      "20",
      "--json",
    ]);
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({
      runtime: { name: "kubelab" },
      failedRelists: 0,
      inspections: 2,
      events: { ContainerStarted: 5 },
      pods: 2,
      health: { healthy: true },
    });
    expect(stderr).toContain("ContainerStarted default/mypod mypod-container b142f836dc");
    expect(stderr).toContain("relist every 1 s");
    expect(stderr).toMatch(/Relist \d+: nothing changed among 2 pods, 2 sandboxes, 3 containers/);
  });

  test("--evented relists once, and reports what that saves", async () => {
    const args = ["pleg", "--evented", "--kube-version", "1.26", "--speed", "100", "--duration", "60s"];
    const { code, stdout, stderr } = await runInProcess(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^1 relist of kubelab/);
    expect(stdout).toMatch(/[1-9]\d* relists? \(two list calls each\) saved/);
    expect(flat(stderr)).toContain("EventedPLEG = alpha, off (v1.26");
  });

  test("--duration ends it with 0, and the trace is shorter without -v", async () => {
    const { code, stderr } = await runInProcess(["pleg", "--speed", "20", "--duration", "5s"]);
    expect(code).toBe(0);
    expect(stderr).not.toContain("nothing changed");
  });

  test("--version-only prints the runtime's version", async () => {
    const { code, stdout } = await runInProcess(["pleg", "--cri", runtime.endpoint, "--version-only"]);
    expect([code, stdout.trim()]).toEqual([0, `kubelab 0.1.0, runtime API v1, at ${runtime.endpoint}`]);
  });

  test("--cri only looks: nothing is changed in the runtime", async () => {
    const { sandboxId } = runtime.control.runPod({
      name: "p",
      namespace: "default",
      uid: "u1",
      containers: [{ name: "c", image: "busybox", command: ["sleep", "1000"] }],
    });
    const before = runtime.control.snapshot();
    const args = ["-v", "3", "--cri", runtime.endpoint, "--relist-period", "20ms", "--json"];
    const { stdout } = await runUntil("Relist 3", args);
    expect(JSON.parse(stdout).events).toEqual({ ContainerStarted: 2 });
    expect(runtime.control.snapshot()).toEqual(before);
    await runtime.control.removeSandbox(sandboxId);
  });

  test("--evented counts the pods at the end, not those of its first list", async () => {
    const pod = (name: string) => ({ name, namespace: "default", uid: `uid-${name}`, containers: [] });
    const { sandboxId } = runtime.control.runPod(pod("old"));
    const stop = new AbortController();
    const added: string[] = [];
    const onStderr = (text: string) => {
      if (flat(text).includes("ContainerStarted default/old") && added.length === 0) {
        added.push(...["new1", "new2"].map((name) => runtime.control.runPod(pod(name)).sandboxId));
        void runtime.control.removeSandbox(sandboxId);
      }
      if (flat(text).includes("ContainerRemoved default/old")) stop.abort();
    };
    const args = ["pleg", "--evented", "--cri", runtime.endpoint, "--json"];
    const { stdout } = await runInProcess(args, { signal: stop.signal, onStderr });
    expect(JSON.parse(stdout)).toMatchObject({ pods: 2, relists: 1 });
    for (const id of added) await runtime.control.removeSandbox(id);
  });

  test("a runtime's failure and its return are reported once each", async () => {
    runtime.control.setFault("ListContainers", { fail: { code: "Internal", message: "no shim" } });
    const args = ["--cri", runtime.endpoint, "--relist-period", "20ms"];
    const stop = new AbortController();
    const onStderr = (text: string) => {
      if (text.includes("no shim")) runtime.control.clearFaults();
      if (flat(text).includes("lists its pods again")) stop.abort();
    };
    const { stderr } = await runInProcess(["pleg", ...args], { signal: stop.signal, onStderr });
    expect(flat(stderr).split("relist failed: rpc error: code = Internal desc = no shim")).toHaveLength(2);
  });
});

describe("wrong usage", () => {
  const table: readonly [readonly string[], number, string][] = [
    [["--mock", "--cri", "unix:///x.sock"], 2, "--mock is for the embedded runtime"],
    [["--speed", "2", "--cri", "unix:///x.sock"], 2, "--speed is for the embedded runtime"],
    [["--cri", "ftp://x"], 2, "is not the endpoint of a container runtime"],
    [["--cri", MISSING], 3, MISSING],
    [["--relist-period", "1ms"], 2, "at least 10ms"],
    [["--http", "0.0.0.0:8080"], 2, "an address of this machine"],
    [["--duration", "soon"], 2, "expected a duration"],
    [["--kube-version", "1.2"], 2, "unknown Kubernetes release"],
  ];
  for (const [flags, want, message] of table) {
    test(`${flags.join(" ")}: exit ${want}`, async () => {
      const { code, stderr, stdout } = await runInProcess(["pleg", ...flags]);
      expect([code, stdout]).toEqual([want, ""]);
      expect(stderr).toContain(message);
    });
  }
});

test("addresses of this machine", () => {
  expect(parseHttpAddress("127.0.0.1:8080")).toEqual({ host: "127.0.0.1", port: 8080 });
  expect(parseHttpAddress("8080")).toEqual({ host: "127.0.0.1", port: 8080 });
  expect(parseHttpAddress("[::1]:0")).toEqual({ host: "::1", port: 0 });
  expect(parseHttpAddress("localhost:1")).toEqual({ host: "localhost", port: 1 });
  for (const text of ["", "10.0.0.1:80", "example.org:80", "127.0.0.1", "127.0.0.1:99999", "[::]:80"]) {
    expect(() => parseHttpAddress(text)).toThrow("an address of this machine");
  }
  expect(parseRelistPeriod("500ms")).toBe(500);
});

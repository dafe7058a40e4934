import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { loadKubeconfig } from "../../src/staging/client-go/clientcmd/kubeconfig.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import type { TimeAnswer } from "../../src/testbed/time/operation.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { CliProcess, newHome, runCliProcess } from "../support/cli-process.js";

const PODS = "/api/v1/namespaces/default/pods";

test("a paused cluster with a joined node: time moves from timer to timer, through a node's death to the eviction", async () => {
  const home = newHome();
  const cluster = new CliProcess(home, ["cluster", "up", "--nodes", "1"]);
  onTestFinished(async () => {
    await cluster.kill("SIGTERM");
    rmSync(home, { recursive: true, force: true });
  });
  await cluster.printed(/kubectl --kubeconfig/);
  const node = new CliProcess(home, ["node", "--node", "n2"]);
  onTestFinished(async () => void (await node.kill("SIGKILL")));
  await node.printed(/node n2 is Ready/);
  const { config } = await loadKubeconfig(join(home, "state", "kubelab", "clusters", "kubelab.kubeconfig"));
  const clock = new SystemClock();
  await using client = createClient(config, {
    clock,
    random: new SystemRandom(),
    trace: new Trace(clock),
    actor: "user",
  });
  const time = async (...argv: string[]): Promise<TimeAnswer> => {
    const { code, stdout, stderr } = await runCliProcess(home, "time", ...argv, "--json");
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as TimeAnswer;
  };
  const leaseOf = async (name: string) => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
    const { body } = await client.request<{ spec: { renewTime: string } }>({ method: "GET", path });
    return Date.parse(body.spec.renewTime);
  };
  const podState = async (name: string) => {
    const { body } = await client.request<{ status: { phase: string } }>({ method: "GET", path: `${PODS}/${name}` });
    return body.status.phase;
  };

  const { isPaused, nowMs, timers } = await time("pause");
  assert.ok(isPaused);
  assert.equal((await time("timers")).nowMs, nowMs);
  for (const who of ["kubelet node-1", "kubelet n2"]) {
    const setBy = timers.filter(({ wait }) => wait?.who === who).map(({ wait }) => wait?.setBy);
    for (const constant of ["relistPeriod", "renewInterval", "syncTicker", "nodeStatusUpdateFrequency"])
      assert.ok(setBy.includes(constant), `${who} waits for ${constant}: ${setBy}`);
  }
  assert.ok(timers.every((timer, i) => timer.dueMs >= (timers[i - 1]?.dueMs ?? 0)));

  const step = await time("step");
  assert.equal(step.nowMs, timers[0]?.dueMs);
  assert.deepEqual(step.ran[0]?.wait, timers[0]?.wait);

  // What needs no timer happens: the pod is scheduled, and its container's image is pulled as time moves.
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" } };
  const containers = [{ name: "web", image: "nginx:1.25" }];
  await client.request({ method: "POST", path: PODS, body: { ...pod, spec: { containers, nodeName: "n2" } } });
  const running = await time("until", "pod/web=Running");
  assert.ok(running.isMet);
  assert.equal(await podState("web"), "Running");

  const later = await time("jump", "60s");
  assert.equal(later.passedMs, 60_000);
  // Every node renewed its Lease on the way.
  for (const name of ["node-1", "n2"]) assert.ok((await leaseOf(name)) > later.nowMs - 13_000, name);

  await node.kill("SIGKILL");
  const lastRenewalMs = await leaseOf("n2");
  const silent = await time("until", "node/n2=Unknown");
  const silenceMs = silent.nowMs - lastRenewalMs;
  // nodeMonitorGracePeriod is 40 s, and the controller looks each 5 s.
  assert.ok(silenceMs > 40_000 && silenceMs <= 46_000, `${silenceMs} ms`);
  const evicted = await time("until", "event=TaintManagerEviction");
  // tolerationSeconds is 300 s from the taint on.
  assert.ok(evicted.passedMs >= 295_000 && evicted.passedMs <= 310_000, `${evicted.passedMs} ms`);

  const never = await runCliProcess(home, "time", "until", "pod/none=Running", "--limit", "10s");
  assert.match(never.stderr, /pod\/none=Running was not met within 10 s/);
  assert.equal(never.code, 1);
  assert.equal((await time("resume")).isPaused, false);
});

test("a cluster that does not run is named", async () => {
  const home = newHome();
  const { code, stderr } = await runCliProcess(home, "time", "step", "--name", "none");
  assert.match(stderr, /no cluster named none is running\nStart it: kubelab cluster up --detach --name none/);
  assert.equal(code, 1);
  rmSync(home, { recursive: true, force: true });
});

test("the clock of a lab is held with --lab, and commands of the lab go on", async () => {
  const home = newHome();
  onTestFinished(async () => {
    await runCliProcess(home, "learn", "stop");
    rmSync(home, { recursive: true, force: true });
  });
  const none = await runCliProcess(home, "time", "pause", "--lab");
  assert.match(none.stderr, /no lab with a clock of its own is played\nStart one: kubelab learn/);
  const both = await runCliProcess(home, "time", "pause", "--lab", "--name", "x");
  assert.equal(both.code, 2);
  assert.equal((await runCliProcess(home, "learn", "start", "heartbeats", "--detach")).code, 0);
  assert.equal((await runCliProcess(home, "time", "pause", "--lab")).code, 0);
  const { code, stdout, stderr } = await runCliProcess(home, "time", "jump", "40s", "--lab", "--json");
  assert.equal(code, 0, stderr);
  const { passedMs, ran } = JSON.parse(stdout) as TimeAnswer;
  assert.equal(passedMs, 40_000);
  assert.ok(ran.some(({ wait }) => wait?.setBy === "renewInterval"));
  assert.equal((await runCliProcess(home, "time", "resume", "--lab")).code, 0);
  // Its commands run in its process, which has the clock: they must not follow it a second time.
  const next = await runCliProcess(home, "learn", "next");
  assert.equal(next.code, 0, next.stderr);
});

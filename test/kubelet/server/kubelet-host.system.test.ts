import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { startRuntime } from "../../../src/cluster/runtime/start.js";
import { KubeletMetrics } from "../../../src/kubelet/metrics/kubelet-metrics.js";
import { KubeletHost, type KubeletHostDeps } from "../../../src/kubelet/server/kubelet-host.js";
import { createCriClient } from "../../../src/staging/cri/remote/create-cri-client.js";
import { SystemClock } from "../../../src/util/clock.js";
import { FakeClock, FakeRandom } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";
import { ManagerLab, podOf, signal } from "../kuberuntime/lab.js";
import { Chain } from "./chain.js";
import { chainTests } from "./chain-tests.js";
import { POD } from "./fake-host.js";

describe("kubelet server: before the embedded runtime", () => {
  let chain: Chain;
  const toClose: AsyncDisposable[] = [];
  beforeAll(async () => {
    const clock = new SystemClock();
    const { trace } = recordingTrace(clock);
    const folder = mkdtempSync(join(tmpdir(), "kubelab-chain-"));
    const runtime = await startRuntime({
      clock,
      trace,
      random: new FakeRandom(),
      images: ["busybox"],
      pullMs: 0,
      seed: 1,
    });
    const client = await createCriClient(runtime.endpoint, { clock, trace, actor: "kubelet" }, {}, signal);
    const lab = new ManagerLab(client, clock, trace, folder, {});
    const pod = podOf([{ name: "app", command: ["sh", "-c", "echo begun; sleep 1000"] }]);
    assert.equal((await lab.sync(pod)).error, undefined);
    chain = await Chain.start(lab, pod);
    toClose.push(chain, client, runtime);
    await chain.untilWritten();
  });
  afterAll(async () => {
    for (const one of toClose) await one[Symbol.asyncDispose]();
  });
  chainTests(() => chain, 200);
});

describe("kubelet host", () => {
  const clock = new FakeClock();
  const { trace } = recordingTrace(clock);
  const nothing = () => Promise.reject(new Error("not asked in this test"));
  const make = (changes: Partial<KubeletHostDeps>) =>
    new KubeletHost(
      {
        podManager: { getPods: () => [POD], getPodByName: () => POD },
        statusManager: { getPodStatus: () => ({ phase: "Succeeded" }) },
        runtime: { getPods: async () => [], getExec: nothing, getAttach: nothing, getPortForward: nothing },
        service: { containerStatus: nothing, execSync: nothing },
        metrics: new KubeletMetrics({ nodeName: "n1", startMs: 0 }),
        clock,
        trace,
        latestLoopEntryMs: () => undefined,
        ...changes,
      },
      { nodeName: "n1", configuration: () => ({ port: 1 }) },
    );

  test("a static pod has the kubelet's status, another one the API server's", () => {
    const source = { "kubernetes.io/config.source": "file" };
    const fixed = { ...POD, metadata: { ...POD.metadata, annotations: source } };
    const host = make({ podManager: { getPods: () => [POD, fixed], getPodByName: () => undefined } });
    assert.deepEqual(
      host.getPods().map(({ status }) => status.phase),
      ["Running", "Succeeded"],
    );
  });

  test("reports a sync loop that has not run for five minutes", () => {
    const entries: readonly [number | undefined, string | undefined][] = [
      [undefined, undefined],
      [clock.now() - 300_000, undefined],
      [clock.now() - 300_001, "sync Loop took longer than expected"],
    ];
    for (const [entryMs, want] of entries) {
      assert.equal(make({ latestLoopEntryMs: () => entryMs }).syncLoopProblem(), want);
    }
  });

  test("a port-forward to a pod that does not run", async () => {
    const asked = { podName: "web", podNamespace: "default", podUid: "uid-1", ports: [] };
    await assert.rejects(make({}).getPortForward(asked, signal), { message: 'pod not found ("web_default")' });
  });

  test("the log of a pod that is not this node's", async () => {
    const host = make({ podManager: { getPods: () => [], getPodByName: () => undefined } });
    const log = host.getKubeletContainerLogs("web_default", "c", {}, signal);
    await assert.rejects(log.next(), { message: 'pod "web" cannot be found - no logs available' });
  });

  test("its configuration, and no statistics without a runtime's", () => {
    assert.deepEqual(make({}).configz(), { port: 1 });
    assert.equal(make({}).summaryProvider, undefined);
  });
});
